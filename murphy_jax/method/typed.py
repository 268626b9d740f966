"""The runtime check of the annotations: shapes, dtypes and options, when a function is called or traced.

It costs nothing inside a jitted program. A violation is a programmer's error, `jaxtyping.TypeCheckError`.
"""

from beartype import BeartypeConf, beartype
from jaxtyping import Array, Float, jaxtyped

# An int is a float here, as it is to the static type checkers.
typed = jaxtyped(typechecker=beartype(conf=BeartypeConf(is_pep484_tower=True)))

Scalar = float | Float[Array, ""]
