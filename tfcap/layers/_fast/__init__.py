"""The speed machinery: every module here equals a plain form, only faster.

Nothing outside needs it to be understood: a layer or a model calls it in one
line, in the place of a plain form that tests compare it with, gradients and
gradients of gradients included.

`word_vectors`, for `vectors @ table`: the vectors of a word channel are rows
    of an identity matrix, but for relaxed ones. They carry their `WordIds`, so
    that an embedding gathers rows and the gradient to its table scatters rows:
    one product where there were three.
`stepwise`, for `x @ kernel + bias` and `vectors @ table` at every step of a
    decode: a weight that T steps read has T gradients, each as large as
    itself. Within a decode the steps take it for a constant, and its gradient
    is taken once, from the inputs of all steps.
`recurrence`, for Keras' LSTM and GRU under a mask: sequences are sorted by
    length, and step t runs on those that have a t-th word; where that does not
    pay, padding is moved to the end and cut.
`scores`, for `token_log_probs(logits, words) * mask`: given captions are read
    in that order, too, and the vocabulary head runs once, on the words that
    count.

`word_vectors` notes the words on the tensor, as Keras notes a mask. Tensors
that take no attributes (JAX) have them in a table by `id()` that lets go with
the tensor, as in Keras' own `set_tensor_attr()`: a wrapper type would pass
neither Keras' layers nor the arithmetic of users. Computed from such vectors,
a tensor is only a tensor, and is multiplied.

All but `word_vectors` needs TensorFlow; elsewhere the plain form runs.
"""
