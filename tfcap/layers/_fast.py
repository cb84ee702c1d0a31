"""Faster forms of plain computations.

A layer or a model calls each in one line, in the place of a plain form with
which tests compare it, gradients and gradients of gradients included.

`word_vectors`, for `vectors @ table`: the vectors of a word channel are rows
    of an identity matrix, but for relaxed ones. They carry their `WordIds`, so
    that an embedding gathers rows and the gradient to its table scatters rows:
    one product where there were three.
`stepwise`, for `x @ kernel + bias` and `vectors @ table` at every step of a
    decode: a weight that T steps read has T gradients, each as large as
    itself. Within a decode the steps take it for a constant, and its gradient
    is taken once, from the inputs of all steps.
`scores`, for `token_log_probs(logits, words) * mask`: given captions are read
    in that order, too, and the vocabulary head runs once, on the words that
    count.
`traced_once`, for `step(...)` at every word: TensorFlow's graph has every step,
    of which Python makes one. On JAX, `scanned`.

`word_vectors` notes the words on the tensor, as Keras notes a mask. Tensors
that take no attributes (JAX) have them in a table by `id()` that lets go with
the tensor, as in Keras' own `set_tensor_attr()`: a wrapper type would pass
neither Keras' layers nor the arithmetic of users. Computed from such vectors,
a tensor is only a tensor, and is multiplied.

`stepwise`, `scores` and `traced_once` need TensorFlow; elsewhere the plain
form runs.
"""

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from tfcap._ops import token_log_probs
from tfcap._ops.loops import LONGEST_UNROLLED
from tfcap._ops.loops import scan
from tfcap._ops.private_names import layers_of
from tfcap._ops.sequences import likeliest_words


class WordIds(NamedTuple):
    """The words that vectors over the vocabulary stand for.

    Args:
        ids: Integer tensor of shape `(...)`, the word of each vector: where it
            is one-hot, its entry of one; where it is relaxed, the word that
            was drawn with it.
        relaxed: Boolean tensor of shape `(...)`, true where a vector is that
            of `soft`; or `None`, where none is.
        soft: Float tensor of shape `(..., V)`, or `None`.
        mask: Float tensor of shape `(...)`, by which the vectors are
            multiplied: 0 where a vector is zero, NaN where there was no word
            to draw; or `None`, for ones.
        prefixes: `Prefixes` that the vectors are, or `None`.
    """

    ids: Any
    relaxed: Any = None
    soft: Any = None
    mask: Any = None
    prefixes: Any = None


class Prefixes(NamedTuple):
    """Prefixes of sequences, each with the end token after it.

    Args:
        source: Float tensor of shape `(B, S, T, V)`, vectors of the sequences.
        going: Boolean tensor of shape `(B, S, N, T)`, which of them N prefixes
            have.
        ends: Boolean tensor of that shape, where the end token is.
        eos: Integer, the end token.
    """

    source: Any
    going: Any
    ends: Any
    eos: int


# Of tensors that take no attributes, such as those of JAX; see the package.
_KEPT = {}


def remember_words(vectors: Any, words: WordIds | None) -> Any:
    """Notes on a tensor which words its vectors are, as Keras notes a mask.

    Returns `vectors`, of shape `(..., V)`.
    """
    if words is None:
        return vectors
    try:
        vectors._tfcap_words = words
    except AttributeError:
        _KEPT[id(vectors)] = words
        weakref.finalize(vectors, _KEPT.pop, id(vectors), None)
    return vectors


def remembered_words(vectors: Any) -> WordIds | None:
    """Returns the `WordIds` noted on vectors, or `None`."""
    return getattr(vectors, "_tfcap_words", _KEPT.get(id(vectors)))


def ids_of_words(vectors: Any) -> Any:
    """Ids of the words of vectors: the known ones, or the largest entries."""
    words = remembered_words(vectors)
    return likeliest_words(vectors) if words is None else words.ids


def cast_words(vectors: Any, dtype: str) -> Any:
    """Casts vectors, and keeps their words."""
    words = remembered_words(vectors)
    if words is not None and words.soft is not None:
        words = words._replace(soft=ops.cast(words.soft, dtype))
    if words is not None and words.prefixes is not None:
        source = cast_words(words.prefixes.source, dtype)
        words = words._replace(prefixes=words.prefixes._replace(source=source))
    return remember_words(ops.cast(vectors, dtype), words)


def mask_words(vectors: Any, mask: Any) -> Any:
    """Multiplies vectors `(..., V)` by a mask `(...)` of 0 and 1."""
    words = remembered_words(vectors)
    if words is not None:
        valid = 1.0 if words.mask is None else words.mask
        words = words._replace(mask=ops.where(mask > 0, valid, 0.0))
    vectors = vectors * ops.cast(mask, vectors.dtype)[..., None]
    return remember_words(vectors, words)


def stack_words(columns: list, num_samples: int) -> Any:
    """Stacks the vectors of steps to those of sequences.

    A list of `T` tensors of shape `(B * S, V)` becomes `(B, S, T, V)`.
    """

    def stack(parts):
        stacked = ops.stack(parts, axis=1)
        return ops.reshape(stacked, (-1, num_samples, *stacked.shape[1:]))

    def stack_all(parts):
        return None if parts[0] is None else stack(parts)

    words = [remembered_words(vectors) for vectors in columns]
    # Which parts of `WordIds` there are must be the same at every step.
    kinds = {x and tuple(part is None for part in x) for x in words}
    if len(kinds) == 1 and words[0] is not None:
        words = WordIds(*map(stack_all, zip(*words)))
    else:
        words = None
    return remember_words(stack(columns), words)


def by_sample(vectors: Any, num_samples: int) -> Any:
    """Reshapes rows of samples `(B * S, T, ...)` to `(B, S, T, ...)`.

    Vectors keep their words. `None` stays `None`.
    """

    def reshape(tensor):
        if tensor is None:
            return None
        shape = (-1, num_samples, *ops.shape(tensor)[1:])
        return ops.reshape(tensor, shape)

    words = remembered_words(vectors)
    if words is not None:
        words = WordIds(*map(reshape, words))
    return remember_words(reshape(vectors), words)


def prefix_words(prefixes: Prefixes, ids: Any) -> Any:
    """Vectors `(B, S * N, T, V)` of prefixes, of the words `ids`.

    They embed as their source does, once for all prefixes of a sequence.
    """
    source, going, ends, eos = prefixes
    end = ops.one_hot(eos, source.shape[-1], dtype=source.dtype)
    vectors = _choose(going, source, ends, end)
    return remember_words(vectors, WordIds(ids, prefixes=prefixes))


def _choose(going, source, ends, end):
    """Vectors of words `(B, S, T, D)` in each prefix, and of its end `(D,)`."""
    end = ops.where(ends[..., None], end, ops.zeros_like(end))
    vectors = ops.where(going[..., None], source[:, :, None], end)
    _, samples, count, length = ops.shape(going)
    return ops.reshape(vectors, (-1, samples * count, length, end.shape[-1]))


def _embedded_prefixes(words, table):
    source, going, ends, eos = words.prefixes
    table = as_tensor(table)
    vectors = _choose(going, embed_words(source, table), ends, table[eos])
    if words.mask is not None:
        vectors = vectors * ops.cast(words.mask, vectors.dtype)[..., None]
    return vectors


def embed_words(vectors: Any, table: Any) -> Any:
    """Multiplies vectors over the vocabulary with a table of embeddings.

    ```
    output = vectors @ table
    ```

    For vectors that are known to be one-hot, as those of a word channel are,
    rows of the table are looked up instead, with an identical result; and the
    gradients are

    ```
    to the vectors: gradient @ table^T
    to the table:   the sum of gradients, in the rows of the words
    ```

    one product where there were three, and within a graph the vectors
    themselves are never computed. Gradients of these gradients are those of
    the product, too.

    Args:
        vectors: Float tensor of shape `(..., V)`.
        table: Float tensor or variable of shape `(V, D)`.

    Returns:
        Float tensor of shape `(..., D)`.

    Example:

    >>> table = np.float32([[0, 0], [1, 2], [3, 4]])
    >>> channel = tfcap.layers.PartialSamplingST(rho=0.0)
    >>> words = channel(np.float32([[[0, 9, 0], [0, 0, 9]]]))
    >>> print(tfcap.layers.embed_words(words, table).numpy())
    [[[1. 2.]
      [3. 4.]]]
    """
    words = remembered_words(vectors)
    if words is not None and words.prefixes is not None:
        return _embedded_prefixes(words, table)
    if known_words(vectors) is None:
        return ops.matmul(vectors, table)
    table = as_tensor(table)
    # A speaker and its listener may compute in two dtypes.
    vectors = cast_words(vectors, table.dtype)
    return _embedded(vectors, remembered_words(vectors), table)


def known_words(vectors: Any) -> WordIds | None:
    """Returns the `WordIds` of vectors that can be looked up, or `None`."""
    words = remembered_words(vectors)
    if words is not None and words.prefixes is not None:
        return None
    if words is None or words.relaxed is None:
        return words
    # Shapes depend on which vectors are relaxed.
    return words if keras.backend.backend() == "tensorflow" else None


def as_tensor(table: Any) -> Any:
    """Converts a table that may be a variable to a tensor."""
    table = ops.convert_to_tensor(table)
    if keras.backend.backend() != "tensorflow":
        return table
    import tensorflow as tf

    # Keras leaves a variable as it is.
    return tf.convert_to_tensor(table)


def _embedded(vectors, words, table):
    """Looks up rows of the table, with the gradients of a product."""
    if keras.backend.backend() == "jax":
        return _jax_lookup()(vectors, words.ids, words.mask, table)

    @ops.custom_gradient
    def product(vectors, table):
        def gradient(*args, upstream=None):
            (upstream,) = args if upstream is None else (upstream,)
            size = ops.shape(table)[0]
            return (
                vectors_gradient(upstream, table),
                table_gradient([vectors], [words], [upstream], size),
            )

        return look_up(words, table), gradient

    return product(vectors, table)


def vectors_gradient(upstream: Any, table: Any) -> Any:
    """Gradient `(..., V)` to vectors, of one `(..., D)` to what they embed."""
    return ops.matmul(upstream, ops.transpose(table))


def look_up(words: WordIds, table: Any) -> Any:
    """Embeddings of words, `(..., D)`, by rows and not by products."""
    rows = ops.take(table, words.ids, axis=0)
    if words.relaxed is not None:
        rows = _with_products(rows, words, table)
    if words.mask is not None:
        rows = rows * ops.cast(words.mask, rows.dtype)[..., None]
    return rows


def _with_products(rows, words, table):
    """Replaces the rows of relaxed vectors by products with the table."""
    import tensorflow as tf

    index = tf.where(words.relaxed)
    soft = tf.gather_nd(words.soft, index)
    return tf.tensor_scatter_nd_update(rows, index, tf.matmul(soft, table))


def table_gradient(
    vectors: list, words: list[WordIds], upstream: list, size: Any
) -> Any:
    """Gradient to a table, of those to what was looked up in it.

    ```
    gradient = sum of vectors^T @ upstream
    ```

    computed by adding up rows. It is linear in both, and its gradients are a
    product and a look-up again.

    Args:
        vectors: List of float tensors of shape `(..., V)`.
        words: List of their `WordIds`.
        upstream: List of float tensors of shape `(..., D)`.
        size: Integer or scalar tensor `V`.
    """
    count = len(words)

    @ops.custom_gradient
    def total(*tensors):
        def gradient(*args, upstream=None):
            (outer,) = args if upstream is None else (upstream,)
            return (
                *(vectors_gradient(x, outer) for x in tensors[count:]),
                *(_embedded(x, y, outer) for x, y in zip(tensors, words)),
            )

        return scatter_rows(words, tensors[count:], size), gradient

    return total(*vectors, *upstream)


def scatter_rows(words: list[WordIds], upstream: list, size: Any) -> Any:
    """Adds up gradients in the rows `(V, D)` of their words."""
    rows, ids, soft = [], [], []
    for each, gradient in zip(words, upstream):
        if each.mask is not None:
            gradient = gradient * ops.cast(each.mask, gradient.dtype)[..., None]
        if each.relaxed is not None:
            soft.append((each, gradient))
            gradient = ops.where(each.relaxed[..., None], 0, gradient)
        rows.append(ops.reshape(gradient, (-1, gradient.shape[-1])))
        ids.append(ops.reshape(ops.cast(each.ids, "int32"), (-1,)))
    rows = ops.concatenate(rows, axis=0)
    dtype = keras.backend.standardize_dtype(rows.dtype)
    # Half precision cannot hold a long sum.
    total = ops.segment_sum(
        ops.cast(rows, keras.backend.result_type(dtype, "float32")),
        ops.concatenate(ids, axis=0),
        num_segments=size,
    )
    total = ops.cast(total, dtype)
    return total + _scatter_products(soft) if soft else total


def _scatter_products(soft):
    """Contribution of relaxed vectors to the gradient of a table."""
    import tensorflow as tf

    rows, gradients = [], []
    for words, gradient in soft:
        index = tf.where(words.relaxed)
        rows.append(tf.gather_nd(words.soft, index))
        gradients.append(tf.gather_nd(gradient, index))
    rows, gradients = tf.concat(rows, axis=0), tf.concat(gradients, axis=0)
    return tf.matmul(rows, gradients, transpose_a=True)


@functools.cache
def _jax_lookup():
    """Makes the look-up for JAX, which differentiates a rule by its source.

    JAX differentiates a custom gradient through the forward pass of its rule.
    The rule therefore calls the function itself, and not its body.

    Returns:
        Callable from vectors `(..., V)`, ids `(...)`, mask `(...)` or `None`
        and a table `(V, D)` to a tensor of shape `(..., D)`.
    """
    import jax

    @jax.custom_vjp
    def embedded(vectors, ids, mask, table):
        return look_up(WordIds(ids, mask=mask), table)

    @jax.custom_vjp
    def total(vectors, ids, mask, upstream):
        words = [WordIds(ids, mask=mask)]
        return scatter_rows(words, [upstream], vectors.shape[-1])

    def forward(function):
        return lambda *read: (function(*read), read)

    def embedded_gradient(read, upstream):
        vectors, ids, mask, table = read
        to_vectors = vectors_gradient(upstream, table)
        return to_vectors, None, None, total(vectors, ids, mask, upstream)

    def total_gradient(read, outer):
        vectors, ids, mask, upstream = read
        to_vectors = vectors_gradient(upstream, outer)
        return to_vectors, None, None, embedded(vectors, ids, mask, outer)

    embedded.defvjp(forward(embedded), embedded_gradient)
    total.defvjp(forward(total), total_gradient)
    return embedded


class Stepwise:
    """Mixin of layers that are called step by step.

    On TensorFlow, within `decoding()`, a layer finds by `shared()` what
    `share()` made for all steps, such as one gradient for a weight that every
    step reads.
    """

    def share(self, rows: Any, steps: int) -> Any:
        """Makes what all steps share; arguments as of `decoding()`."""
        raise NotImplementedError

    def shared(self, inputs: Any) -> Any:
        """Result of `share()` that takes the inputs of a step, or `None`.

        A step may be traced into a graph of its own, which outlives the
        decode: but for `traced_once()`, nothing is shared there.
        """
        shared = _open().get(id(self))
        here = shared is not None and shared.graph is _graph()
        return shared if here and shared.takes(inputs) else None

    @contextlib.contextmanager
    def decoding(self, rows: Any, steps: int):
        """Opens the context of a decode.

        Args:
            rows: Integer or scalar tensor, rows of every call.
            steps: Integer, calls at most, one a step.
        """
        shared, before = _open(), _open().get(id(self))
        if keras.backend.backend() == "tensorflow":
            shared[id(self)] = self.share(rows, steps)
        try:
            yield self
        finally:
            shared.pop(id(self), None)
            if before is not None:
                shared[id(self)] = before


#: Replicas decode side by side, each in a thread of its own.
_DECODES = threading.local()


def _open():
    """Products that layers share in open decodes, by the layer's `id()`."""
    return _DECODES.__dict__.setdefault("shared", {})


def open_products() -> list["StepwiseProduct"]:
    """Returns what the layers of open decodes share."""
    return [x for x in _open().values() if x.graph is _graph()]


def traced_once(step: Callable, products: list = ()) -> Callable:
    """Repeats a step in a graph that is traced once.

    In TensorFlow's graphs, each call is one operation, which the runtime
    replaces by those of the step: they run as if each step had been traced,
    and Python makes them, and their gradients, once. Elsewhere the step is
    returned as it is.

    Args:
        step: Callable of nests of tensors to such nests. Words of vectors are
            known on both sides. Sizes that change trace it again.
        products: List of `StepwiseProduct` that the steps share. Defaults to
            none.
    """
    if keras.backend.backend() != "tensorflow" or _graph() is None:
        return step
    import tensorflow as tf

    @tf.function(autograph=False)
    def traced(biases, inputs):
        with contextlib.ExitStack() as inside:
            for product, bias in zip(products, biases):
                inside.enter_context(product.traced(bias))
            outputs = step(*_recalled(inputs))
            taken = [product.inputs for product in products]
        return _noted((outputs, taken))

    def call(*inputs):
        biases = [next(product.biases) for product in products]
        outputs, taken = _recalled(traced(biases, _noted(inputs)))
        for product, inputs in zip(products, taken):
            product.inputs.append(*inputs or [None])
        return outputs

    return call


def scans(carried: tuple) -> bool:
    """Returns whether JAX traces what is carried."""
    if keras.backend.backend() != "jax":
        return False
    import jax

    leaves = keras.tree.flatten(carried)
    return any(isinstance(leaf, jax.core.Tracer) for leaf in leaves)


def scanned(step: Callable, places: Any, carried: tuple, draws: Any) -> tuple:
    """Takes steps in a scan with gradient, on JAX.

    Args:
        step, carried: As of `each_step()`.
        places: Range, the steps.
        draws: `SameDraws` of the random generators of a step.

    Returns:
        List of what each step has said, and what is carried in the end.
    """

    def body(carried, t):
        said, carried = step(t, *_recalled(carried))
        return _noted(carried), _noted(said)

    steps = ops.array(places, "int32")
    carried, said = scan(body, _noted(carried), steps, draws)

    def of_step(index):
        return keras.tree.map_structure(
            lambda x: None if x is None else x[index], said
        )

    said = [_recalled(of_step(index)) for index in range(len(places))]
    return said, _recalled(carried)


class _Noted(NamedTuple):
    """A tensor and the words noted on it, from one graph to another."""

    tensor: Any
    words: Any


def _noted(nest):
    def noted(x):
        return _Noted(ops.convert_to_tensor(x), remembered_words(x))

    return keras.tree.map_structure(noted, nest)


def _recalled(nest):
    return keras.tree.traverse(
        lambda x: remember_words(*x) if isinstance(x, _Noted) else None, nest
    )


def decoding_layers(
    network: keras.Model, rows: Any, steps: int
) -> contextlib.ExitStack:
    """Opens the context of a decode, in all layers that share steps.

    Args:
        network: `keras.Model`.
        rows: Integer or scalar tensor, rows of every step.
        steps: Integer, steps at most.
    """
    contexts = contextlib.ExitStack()
    for layer in layers_of(network):
        if isinstance(layer, Stepwise):
            contexts.enter_context(layer.decoding(rows, steps))
    return contexts


def _graph():
    """The graph that is being traced, or `None` in eager execution."""
    import tensorflow as tf

    eager = tf.executing_eagerly()
    return None if eager else tf.compat.v1.get_default_graph()


class StepwiseProduct:
    """`inputs @ kernel + bias` at every step of a decode.

    A kernel that is read at every step has a gradient at every step, each as
    large as itself, and they are added up: of a vocabulary head, hundreds of
    megabytes. Here the steps take the kernel for a constant, and each has a
    copy of the bias of its own. The gradients to the copies are all that the
    kernel needs:

    ```
    gradient = concat(inputs of all steps)^T @ concat(upstream of all steps)
    ```

    Gradients of these gradients reach the kernel from every step, as those of
    plain products do.

    Args:
        kernel: Float tensor of shape `(D, U)`.
        bias: Float tensor of shape `(U,)`; the result has its dtype.
        rows: Integer or scalar tensor, rows of a step.
        steps: Integer, how often it is called at most.
    """

    def __init__(self, kernel: Any, bias: Any, rows: Any, steps: int):
        import tensorflow as tf

        self.kernel = kernel
        self.rows = tf.get_static_value(rows)
        self.steps = steps
        self.graph = _graph()
        #: Of every step, or `None` where it had no use for the product.
        self.inputs = []
        # Made by the first step: a SavedModel traces every gradient of a graph.
        self.biases = self._copies(bias, rows)

    def takes(self, inputs):
        """Returns whether a tensor has a step's shape, and a step is left."""
        left = len(self.inputs) < self.steps
        return left and inputs.shape.is_compatible_with((self.rows, None))

    def __call__(self, inputs):
        """Computes the next step: `(n, D)` to `(n, U)`."""
        import tensorflow as tf

        bias = next(self.biases)
        self.inputs.append(inputs)

        @tf.custom_gradient
        def product(inputs, kernel):
            def gradient(upstream):
                # To the kernel: by the copies of the bias.
                return self.gradient_of_inputs(upstream, kernel), None

            return self.multiply(inputs, kernel), gradient

        return tf.cast(product(inputs, self.kernel), bias.dtype) + bias

    @contextlib.contextmanager
    def traced(self, bias):
        """Context in which a step is traced into a graph of its own."""
        outside = self.__dict__.copy()
        self.graph, self.steps = _graph(), 1
        self.biases, self.inputs = iter([bias]), []
        try:
            yield
        finally:
            self.__dict__.update(outside)

    def multiply(self, inputs, kernel):
        """Multiplies the inputs of a step with the kernel."""
        import tensorflow as tf

        return tf.matmul(inputs, kernel)

    def gradient_of_inputs(self, upstream, kernel):
        """Gradient `(n, D)` to the inputs of a step."""
        import tensorflow as tf

        return tf.matmul(upstream, kernel, transpose_b=True)

    def gradients_of_weights(self, inputs, upstream):
        """Gradients to kernel and bias, of the gradients to all steps."""
        import tensorflow as tf

        inputs = tf.concat(inputs, axis=0)
        upstream = tf.concat(upstream, axis=0)
        kernel = tf.matmul(
            inputs, tf.cast(upstream, inputs.dtype), transpose_a=True
        )
        return kernel, tf.reduce_sum(upstream, axis=0)

    def _copies(self, bias, rows):
        """Copies the bias for every step, of shape `(rows, U)`."""
        import tensorflow as tf

        @tf.custom_gradient
        def copies(kernel, bias):
            every = tf.broadcast_to(bias, (rows, bias.shape[-1]))

            def gradient(*upstream):
                pairs = zip(self.inputs, upstream)
                read = [pair for pair in pairs if pair[0] is not None]
                if not read:
                    return tf.zeros_like(kernel), tf.zeros_like(bias)
                return self.gradients_of_weights(*map(list, zip(*read)))

            return [tf.identity(every) for _ in range(self.steps)], gradient

        yield from copies(self.kernel, bias)


class StepwiseLookup(StepwiseProduct):
    """`embed_words()` at every step of a decode, without a bias.

    Args:
        table: Float tensor or variable of shape `(V, D)`.
        rows: Integer or scalar tensor, rows of a step.
        steps: Integer, how often it is called at most.
    """

    def __init__(self, table: Any, rows: Any, steps: int):
        import tensorflow as tf

        table = as_tensor(table)
        zeros = tf.zeros((table.shape[-1],), table.dtype)
        super().__init__(table, zeros, rows, steps)

    def takes(self, inputs):
        """Returns whether vectors are those of a step, of known words."""
        return super().takes(inputs) and known_words(inputs) is not None

    def multiply(self, inputs, kernel):
        return look_up(known_words(self.inputs[-1]), kernel)

    def gradient_of_inputs(self, upstream, kernel):
        return vectors_gradient(upstream, kernel)

    def gradients_of_weights(self, inputs, upstream):
        words = [known_words(vectors) for vectors in inputs]
        size = self.kernel.shape[0]
        return table_gradient(inputs, words, upstream, size), None


@keras.saving.register_keras_serializable(package="tfcap")
class StepwiseDense(Stepwise, keras.layers.Dense):
    """`keras.layers.Dense`, called once a step.

    Weights, arguments, results and gradients are those of
    `keras.layers.Dense`; only how the kernel gets its gradient differs, in a
    decode.
    """

    def share(self, rows, steps):
        kernel = ops.cast(self.kernel, self.compute_dtype)
        if self.bias is None:
            bias = ops.zeros((self.units,), self.compute_dtype)
        else:
            bias = ops.cast(self.bias, self.compute_dtype)
        return StepwiseProduct(kernel, bias, rows, steps)

    def call(self, inputs, training=None):
        product = self.shared(inputs)
        if product is None:
            return super().call(inputs, training=training)
        return self.activation(product(inputs))


def packed_scores(
    speaker: Any, state: Any, tokens: Any, mask: Any, training: bool
) -> Any:
    """Log probabilities of given words, computed for these words alone.

    Captions are sorted by length, and step `t` runs on those that have a
    `t`-th word; the inputs' projections, and the vocabulary head, run once on
    all words. Elsewhere than on TensorFlow, and where `T` is long or not known
    while the graph is traced, the plain form

    ```
    token_log_probs(compute_logits(run_rnn(words before)), words) * mask
    ```

    Args:
        speaker: `WordByWord`.
        state: Nest of tensors with leading axis `n`.
        tokens: Integer tensor of shape `(n, T)`.
        mask: Float tensor of shape `(n, T)`, nonzero where a word counts.
        training: Boolean.

    Returns:
        Float32 tensor of shape `(n, T)`, 0 under the mask.
    """
    length, unroll = mask.shape[1], speaker.unroll
    if unroll is None or length is None:
        unroll = length is not None and length <= LONGEST_UNROLLED
    if keras.backend.backend() != "tensorflow" or not unroll:

        def compute_logits(hidden):
            return speaker.compute_logits(hidden, training)

        hidden = speaker.teacher_forced(state, tokens, training)
        return masked_word_scores(compute_logits, hidden, tokens, mask)
    import tensorflow as tf

    index, order, alive = _plan(tf.cast(mask, tf.bool))
    start = tf.fill(tf.shape(tokens[:, :1]), speaker.bos)
    before = tf.concat([start, tokens[:, :-1]], axis=1)
    words = speaker.embed(tf.gather_nd(before, index), training)
    words = tf.split(speaker.project_inputs(words), alive, num=length)
    state = keras.tree.map_structure(lambda x: tf.gather(x, order), state)
    outputs = []

    @traced_once
    def read(word, state, alive):
        state = _first_rows(state, alive)
        return speaker.cell_step(word, state, training=training)

    for word, count in zip(words, tf.unstack(alive)):
        output, state = read(word, state, count)
        outputs.append(output)
    logits = speaker.compute_logits(tf.concat(outputs, axis=0), training)
    scores = token_log_probs(logits, tf.gather_nd(tokens, index))
    scores = _scatter(scores, index, tokens)
    return tf.where(mask > 0, scores, 0.0)


def masked_word_scores(
    compute_logits: Any, hidden: Any, tokens: Any, mask: Any
) -> Any:
    """Log probabilities of given words, computed for unmasked words alone.

    On backends without dynamic shapes every word is scored.

    Args:
        compute_logits: Callable from `(m, D)` to logits `(m, V)`.
        hidden: Float tensor of shape `(n, T, D)`.
        tokens: Integer tensor of shape `(n, T)`.
        mask: Tensor of shape `(n, T)`, nonzero where a word counts.
    """
    if keras.backend.backend() != "tensorflow":
        scores = token_log_probs(compute_logits(hidden), tokens)
        return ops.where(ops.cast(mask, "bool"), scores, 0.0)
    import tensorflow as tf

    index = tf.where(tf.cast(mask, tf.bool))
    logits = compute_logits(tf.gather_nd(hidden, index))
    scores = token_log_probs(logits, tf.gather_nd(tokens, index))
    return _scatter(scores, index, tokens)


def _scatter(scores, index, tokens):
    """Puts the scores of words `(m,)` in a tensor `(n, T)` of zeros."""
    import tensorflow as tf

    shape = tf.shape(tokens, out_type=index.dtype)
    return tf.ensure_shape(tf.scatter_nd(index, scores, shape), tokens.shape)


def _plan(mask):
    """Row and step of every word, by step, then by length; rows; counts."""
    import tensorflow as tf

    steps = tf.range(mask.shape[1])
    # Up to the last word that counts, whatever lies before it.
    length = tf.reduce_max(tf.where(mask, steps + 1, 0), axis=1)
    order = tf.argsort(length, direction="DESCENDING", stable=True)
    valid = steps[:, None] < tf.gather(length, order)[None]  # (T, n)
    step, rank = tf.unstack(tf.where(valid), axis=1)
    rows = tf.gather(tf.cast(order, tf.int64), rank)
    alive = tf.reduce_sum(tf.cast(valid, tf.int32), axis=1)
    return tf.stack([rows, step], axis=1), order, alive


def _first_rows(state, count):
    import tensorflow as tf

    # A split at the first axis shares its memory; a slice may copy.
    def first(x):
        return tf.split(x, [count, tf.shape(x)[0] - count])[0]

    return keras.tree.map_structure(first, state)
