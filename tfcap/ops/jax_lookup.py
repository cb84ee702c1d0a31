"""Words looked up on JAX, which differentiates a rule by its source.

The gradient of a gradient by hand is there that of what the forward pass of
the rule computes. It therefore calls the function itself, and not its body.
"""

import functools


@functools.cache
def jax_lookup():
    """The product of words with a table, by rows, and all its gradients.

    Returns:
        Callable from vectors `(..., V)`, ids `(...)`, presence `(...)` or
        `None` and a table `(V, D)` to a tensor of shape `(..., D)`.
    """
    import jax

    from tfcap.ops import word_vectors as by_hand

    @jax.custom_vjp
    def embedded(vectors, ids, there, table):
        return by_hand.look_up(by_hand.Words(ids, there=there), table)

    @jax.custom_vjp
    def total(vectors, ids, there, upstream):
        words = [by_hand.Words(ids, there=there)]
        return by_hand.sum_of_rows(words, [upstream], vectors.shape[-1])

    def forward(function):
        return lambda *read: (function(*read), read)

    def slopes_of_embedded(read, upstream):
        vectors, ids, there, table = read
        to_vectors = by_hand.slope_of_vectors(upstream, table)
        return to_vectors, None, None, total(vectors, ids, there, upstream)

    def slopes_of_total(read, slope):
        vectors, ids, there, upstream = read
        to_vectors = by_hand.slope_of_vectors(upstream, slope)
        return to_vectors, None, None, embedded(vectors, ids, there, slope)

    embedded.defvjp(forward(embedded), slopes_of_embedded)
    total.defvjp(forward(total), slopes_of_total)
    return embedded
