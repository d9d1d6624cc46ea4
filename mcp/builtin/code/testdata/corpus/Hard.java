package hard;

/**
 * A class.
 *
 * line 1 isn't code {
 * line 2 isn't code {
 * line 3 isn't code {
 * line 4 isn't code {
 * line 5 isn't code {
 * line 6 isn't code {
 * line 7 isn't code {
 * line 8 isn't code {
 * line 9 isn't code {
 * line 10 isn't code {
 * line 11 isn't code {
 * line 12 isn't code {
 * line 13 isn't code {
 * line 14 isn't code {
 * line 15 isn't code {
 * line 16 isn't code {
 * line 17 isn't code {
 * line 18 isn't code {
 * line 19 isn't code {
 * line 20 isn't code {
 * line 21 isn't code {
 * line 22 isn't code {
 * line 23 isn't code {
 * line 24 isn't code {
 * line 25 isn't code {
 * line 26 isn't code {
 * line 27 isn't code {
 * line 28 isn't code {
 * line 29 isn't code {
 * line 30 isn't code {
 * line 31 isn't code {
 * line 32 isn't code {
 * line 33 isn't code {
 * line 34 isn't code {
 * line 35 isn't code {
 * line 36 isn't code {
 * line 37 isn't code {
 * line 38 isn't code {
 * line 39 isn't code {
 * line 40 isn't code {
 * line 41 isn't code {
 * line 42 isn't code {
 * line 43 isn't code {
 * line 44 isn't code {
 * line 45 isn't code {
 * line 46 isn't code {
 * line 47 isn't code {
 * line 48 isn't code {
 * line 49 isn't code {
 * line 50 isn't code {
 * line 51 isn't code {
 * line 52 isn't code {
 * line 53 isn't code {
 * line 54 isn't code {
 * line 55 isn't code {
 * line 56 isn't code {
 * line 57 isn't code {
 * line 58 isn't code {
 * line 59 isn't code {
 * line 60 isn't code {
 * line 61 isn't code {
 * line 62 isn't code {
 * line 63 isn't code {
 * line 64 isn't code {
 * line 65 isn't code {
 * line 66 isn't code {
 * line 67 isn't code {
 * line 68 isn't code {
 * line 69 isn't code {
 * line 70 isn't code {
 * line 71 isn't code {
 * line 72 isn't code {
 * line 73 isn't code {
 * line 74 isn't code {
 * line 75 isn't code {
 * line 76 isn't code {
 * line 77 isn't code {
 * line 78 isn't code {
 * line 79 isn't code {
 * line 80 isn't code {
 * line 81 isn't code {
 * line 82 isn't code {
 * line 83 isn't code {
 * line 84 isn't code {
 * line 85 isn't code {
 * line 86 isn't code {
 * line 87 isn't code {
 * line 88 isn't code {
 * line 89 isn't code {
 * line 90 isn't code {
 * line 91 isn't code {
 * line 92 isn't code {
 * line 93 isn't code {
 * line 94 isn't code {
 * line 95 isn't code {
 * line 96 isn't code {
 * line 97 isn't code {
 * line 98 isn't code {
 * line 99 isn't code {
 * line 100 isn't code {
 * line 101 isn't code {
 * line 102 isn't code {
 * line 103 isn't code {
 * line 104 isn't code {
 * line 105 isn't code {
 * line 106 isn't code {
 * line 107 isn't code {
 * line 108 isn't code {
 * line 109 isn't code {
 * line 110 isn't code {
 * line 111 isn't code {
 * line 112 isn't code {
 * line 113 isn't code {
 * line 114 isn't code {
 * line 115 isn't code {
 * line 116 isn't code {
 * line 117 isn't code {
 * line 118 isn't code {
 * line 119 isn't code {
 * line 120 isn't code {
 * class Inside { void f() { } }
 */
@Deprecated
@SuppressWarnings({
    "a", // a comment in brackets

    "}",
})

// between
@Named(value = """
    class Text {
    """)
public final class Hard<
    K extends Comparable<K>,
    V>
    extends Base<K>
    implements Runnable {

  private int a = 1, b = 2;

  /** A constant with a body. */
  enum Order {
    /** One. */
    ONE {
      @Override int rank() { return 1; }
    },
    TWO() {
      @Override int rank() { return 2; }
    };

    abstract int rank();
  }

  @interface Marker {
    String value() default "{";
  }

  @Override public void run()
  {
    Runnable r = new Runnable() {
      @Override public void run() { }
    };
  }

  public static
      int split(int a,
          int b) {
    return a; /* begins
    ends */ }

  int after() { return '"'; } int beside() { return 1; }
}
