#include <vector>

namespace outer {

template <
    typename T,
    typename U = std::vector<T>>
[[nodiscard]]
class Box : public Base<T>
{
public:
  Box(T t) : Base<T>{t}, items_{} {
  }
  ~Box() = default;

  template <typename V> bool operator<(const V &other) const { return 1 < 2; }

private:
  std::vector<T> items_{1, 2}; /* begins
    ends */
  static constexpr const char *text = R"x(
class Inside {
)x";
};

template <typename T, typename U>
bool Box<T, U>::operator==(const Box &o) const
{
  return '"' == '"';
}

enum class Kind : int {
  First,
  Last,
};

int plain() { return 1'000; }

} // namespace outer
