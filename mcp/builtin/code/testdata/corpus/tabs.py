import os as _os


def decorate(*args):
	def wrap(f):
		return f
	return wrap


LIMITS = {
	"a": 1,  # }
	"b": (2, 3),
}


# A comment above.
# In two lines.
@decorate(
	"x",
	[1, 2],
)
@decorate("y")
class Outer(dict, metaclass=type):
	"""Outer docstring.

	def not_a_function(): pass
	"""

	field: int = 1

	class Inner:
		class Innermost:
			def deep(self) -> "dict[str, int]":
				return {}

		def after(self): return 1

	async def method(
		self,
		a: int = (1 + 2),
		*, key=lambda x: x
	) -> None:
		'''One line.'''
		text = """
	def fake():
"""

		def local():
			pass
		return text

	@property
	def size(self):
		return 1

	@size.setter
	def size(self, value):
		"plain docstring"
		self._size = value


def twice():
	return 1


def twice():
	# comment first
	return 2


if True:
	def conditional(): pass

add = lambda a, b: a + b
TOTAL = add(1,
	2)