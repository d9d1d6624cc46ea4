#pragma once
#include <map>

namespace outer { namespace inner {

// A stack.
template <typename T,
          class Alloc = std::allocator<T>>
class Stack : public Base<T>, protected virtual Other {
public:
  using value_type = T;
  Stack() = default;
  explicit Stack(int n);
  ~Stack();
  /// Pushes.
  void push(const T &value) { items_.push_back(value); }
  void push(T &&value);
  bool operator==(const Stack &other) const;
  T &operator[](int i) { return items_[i]; }
  template <typename U> U as() const { return U{}; }
  [[nodiscard]]
  int size() const noexcept;

  class Iterator {
    struct State { int at; };
    T *here;
  };

private:
  std::map<std::string, int> items_;
  static const int kMax = 3;
};

template <typename T, class A>
Stack<T, A>::Stack(int n) : Base<T>{n}, items_{} {
}

template <typename T, class A>
int
Stack<T, A>::size() const noexcept
{
  return R"x(})x"[0];
}

}}  // namespace

namespace {
int hidden() { return 1; }
}

enum class Colour : int { Red, Green };
constexpr int kLimit = 1'000;
auto lambda = [](int x) { return x; };
#define CHECK(x) do { if (!(x)) abort(); } while (0)

int main(int argc, char **argv) {
  return [&] { return argc; }();
}