package corpus;

import java.util.*;

/**
 * A tree { of nodes.
 */
@SuppressWarnings({
    "unchecked",
})
public abstract class Tree<K extends Comparable<K>, V> extends AbstractMap<K, V>
    implements Iterable<V>, Cloneable {
  /** How many. */
  @Deprecated
  private static final int LIMIT = 10, OTHER = 11;
  private Map<String, List<V>> index = new HashMap<>();

  static { System.out.println("}"); }

  public enum Order {
    /** In order. */
    IN("in") { @Override int rank() { return 1; } },
    PRE("pre");

    private final String label;

    Order(String label) { this.label = label; }

    int rank() { return 0; }
  }

  interface Visitor<V> {
    void visit(V value) throws Exception;

    default void done() {}
  }

  protected Tree() {
    super();
  }

  // Overloads.
  public V find(K key) {
    return find(key, null);
  }

  public V find(
      K key,
      V otherwise) {
    Runnable r = new Runnable() {
      @Override
      public void run() { }
    };
    return otherwise;
  }

  abstract int depth();

  @interface Marker { int value() default 1; }
}

class Second { }
