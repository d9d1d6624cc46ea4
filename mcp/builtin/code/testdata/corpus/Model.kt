package corpus

/** A model. */
@Serializable
data class Model(val id: Int, val names: Map<String, Int>) : Base(), Shown {
    val size: Int
        get() = names.size

    fun one() = names
        .filter { it.value > 1 }
        .size

    override fun show(a: Int): String {
        return "${a + 1} }"
    }

    companion object {
        const val MAX = 3
    }
}

interface Shown {
    fun show(a: Int): String
}

fun top(x: Int): Int =
    x + 1
