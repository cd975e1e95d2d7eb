"""Models with control flow and local functions, each with a twin that says the same without."""

import numpy as np
import onnx
from onnx import numpy_helper, parser

_HEAD = '<ir_version: 8, opset_import: ["": 17]>\n'

# name -> (model, straight-line twin or None). Undefined names in <...> are weights.
_TEXTS = {
    "if": (
        """g (bool c, float[4,8] x) => (float[4,16] y) <float[8,16] w1, float[8,4] w2, float[4,16] w3> {
          y = If (c) <
            then_branch = t () => (float[4,16] a) { a = MatMul(x, w1) },
            else_branch = e () => (float[4,16] b) { h = MatMul(x, w2) k = MatMul(h, w3) b = Relu(k) }> }""",
        None),
    "if_constant": (
        """g (float[4,8] x) => (float[4,16] y) <float[8,16] w1, float[8,32] w2, float[32,16] w3> {
          c = Constant<value = bool {1}>()
          y = If (c) <
            then_branch = t () => (float[4,16] a) { a = MatMul(x, w1) },
            else_branch = e () => (float[4,16] b) { h = MatMul(x, w2) b = MatMul(h, w3) }> }""",
        """g (float[4,8] x) => (float[4,16] y) <float[8,16] w1> { y = MatMul(x, w1) }"""),
    "loop": (
        """g (float[4,8] x) => (float[4,8] y, float[3,4,8] s) <float[8,8] w, int64 n = {3}> {
          t = Constant<value = bool {1}>()
          y, s = Loop (n, t, x) <body = b (int64 i, bool ci, float[4,8] h)
                 => (bool co, float[4,8] h2, float[4,8] z) {
            co = Identity(ci) m = MatMul(h, w) h2 = Relu(m) z = Tanh(h2) }> }""",
        """g (float[4,8] x) => (float[4,8] y) <float[8,8] w> {
          a = MatMul(x, w) b = Relu(a) t1 = Tanh(b) c = MatMul(b, w) d = Relu(c) t2 = Tanh(d)
          e = MatMul(d, w) y = Relu(e) t3 = Tanh(y) }"""),
    "loop_growing": (
        """g (float[1,8] x) => (float[l,8] y) <float[8,8] w, int64 n = {4}> {
          t = Constant<value = bool {1}>()
          y = Loop (n, t, x) <body = b (int64 i, bool ci, float[k,8] h) => (bool co, float[k2,8] h2) {
            co = Identity(ci) m = MatMul(h, w) h2 = Concat<axis = 0>(h, m) }> }""",
        """g (float[1,8] x) => (float[16,8] y) <float[8,8] w> {
          a = MatMul(x, w) b = Concat<axis = 0>(x, a) c = MatMul(b, w) d = Concat<axis = 0>(b, c)
          e = MatMul(d, w) f = Concat<axis = 0>(d, e) h = MatMul(f, w) y = Concat<axis = 0>(f, h) }"""),
    "loop_nested": (
        """g (float[4,8] x) => (float[4,8] y) <float[8,8] w, int64 n = {2}, int64 k = {3}> {
          t = Constant<value = bool {1}>()
          y = Loop (n, t, x) <body = b (int64 i, bool ci, float[4,8] h) => (bool co, float[4,8] h2) {
            co = Identity(ci)
            h2 = Loop (k, ci, h) <body = c (int64 j, bool cj, float[4,8] u) => (bool cq, float[4,8] u2) {
              cq = Identity(cj) u2 = MatMul(u, w) }> }> }""",
        """g (float[4,8] x) => (float[4,8] y) <float[8,8] w> {
          a = MatMul(x, w) b = MatMul(a, w) c = MatMul(b, w)
          d = MatMul(c, w) e = MatMul(d, w) y = MatMul(e, w) }"""),
    "scan": (
        """g (float[4,8] h0, float[3,4,5] xs) => (float[4,8] h, float[3,4,8] ys)
          <float[5,8] w, float[8,8] r> {
          h, ys = Scan <num_scan_inputs = 1, body = b (float[4,8] hi, float[4,5] x)
                  => (float[4,8] ho, float[4,8] yo) {
            p = MatMul(x, w) q = MatMul(hi, r) s = Add(p, q) ho = Tanh(s) yo = Identity(ho) }>(h0, xs) }""",
        """g (float[4,8] h0, float[4,5] x1, float[4,5] x2, float[4,5] x3) => (float[4,8] h)
          <float[5,8] w, float[8,8] r> {
          p1 = MatMul(x1, w) q1 = MatMul(h0, r) s1 = Add(p1, q1) h1 = Tanh(s1)
          p2 = MatMul(x2, w) q2 = MatMul(h1, r) s2 = Add(p2, q2) h2 = Tanh(s2)
          p3 = MatMul(x3, w) q3 = MatMul(h2, r) s3 = Add(p3, q3) h = Tanh(s3) }"""),
    "lstm_scan": (
        """g (float[4,8] h0, float[4,8] c0, float[2,4,5] xs) => (float[4,8] h, float[4,8] c, float[2,4,8] ys)
          <float[5,32] w, float[8,32] r, float[32] b> {
          h, c, ys = Scan <num_scan_inputs = 1, body = s (float[4,8] hi, float[4,8] ci, float[4,5] x)
                  => (float[4,8] ho, float[4,8] co, float[4,8] yo) {
            p = MatMul(x, w) q = MatMul(hi, r) u = Add(p, q) v = Add(u, b)
            i, o, f, g = Split<axis = -1>(v) it = Sigmoid(i) ot = Sigmoid(o) ft = Sigmoid(f) gt = Tanh(g)
            k = Mul(ft, ci) n = Mul(it, gt) co = Add(k, n) th = Tanh(co) ho = Mul(ot, th)
            yo = Identity(ho) }>(h0, c0, xs) }""",
        """g (float[4,8] h0, float[4,8] c0, float[4,5] x1, float[4,5] x2) => (float[4,8] h2, float[4,8] c2)
          <float[5,32] w, float[8,32] r, float[32] b> {
          p1 = MatMul(x1, w) q1 = MatMul(h0, r) u1 = Add(p1, q1) v1 = Add(u1, b)
          i1, o1, f1, g1 = Split<axis = -1>(v1) it1 = Sigmoid(i1) ot1 = Sigmoid(o1) ft1 = Sigmoid(f1)
          gt1 = Tanh(g1) k1 = Mul(ft1, c0) n1 = Mul(it1, gt1) c1 = Add(k1, n1) th1 = Tanh(c1) h1 = Mul(ot1, th1)
          p2 = MatMul(x2, w) q2 = MatMul(h1, r) u2 = Add(p2, q2) v2 = Add(u2, b)
          i2, o2, f2, g2 = Split<axis = -1>(v2) it2 = Sigmoid(i2) ot2 = Sigmoid(o2) ft2 = Sigmoid(f2)
          gt2 = Tanh(g2) k2 = Mul(ft2, c1) n2 = Mul(it2, gt2) c2 = Add(k2, n2) th2 = Tanh(c2) h2 = Mul(ot2, th2) }"""),
    "lstm_operator": (
        """g (float[1,4,8] h0, float[1,4,8] c0, float[2,4,5] xs) => (float[2,1,4,8] ys, float[1,4,8] h, float[1,4,8] c)
          <float[1,32,5] w, float[1,32,8] r, float[1,64] b> {
          ys, h, c = LSTM <hidden_size = 8>(xs, w, r, b, , h0, c0) }""",
        None),
    "if_weights": (
        """g (bool c, float[4,8] x) => (float[4,16] y) {
          w = If (c) <
            then_branch = t () => (float[8,16] a) <float[8,16] a> { },
            else_branch = e () => (float[8,16] b) <float[8,16] b> { }>
          y = MatMul(x, w) }""",
        """g (float[4,8] x) => (float[4,16] y) <float[8,16] w> { y = MatMul(x, w) }"""),
    "sequence_map": (
        """g (float[3,4] a, float[5,4] b) => (float[8,2] y) <float[4,2] w> {
          s = SequenceConstruct(a, b)
          t = SequenceMap(s) <body = m (float[r,4] i) => (float[r,2] o) { o = MatMul(i, w) }>
          y = ConcatFromSequence<axis = 0>(t) }""",
        """g (float[3,4] a, float[5,4] b) => (float[8,2] y) <float[4,2] w> {
          c = MatMul(a, w) d = MatMul(b, w) y = Concat<axis = 0>(c, d) }"""),
    "function": (
        """g (float[4,8] x) => (float[4,8] y) <float[8,16] w1, float[16] b1, float[16,8] w2, float[8] b2> {
          h = my.Linear(x, w1, b1) r = Relu(h) y = my.Linear(r, w2, b2) }
        <domain: "my", opset_import: ["": 17]>
        Linear (x, w, b) => (y) { m = MatMul(x, w) y = Add(m, b) }""",
        """g (float[4,8] x) => (float[4,8] y) <float[8,16] w1, float[16] b1, float[16,8] w2, float[8] b2> {
          m1 = MatMul(x, w1) h = Add(m1, b1) r = Relu(h) m2 = MatMul(r, w2) y = Add(m2, b2) }"""),
    "function_attributes": (
        """g (float[2,3,16,16] x) => (float[n,c,p,q] y) <float[8,3,3,3] w1, float[8,8,3,3] w2> {
          h = my.Block<s: ints = [2, 2]>(x, w1) y = my.Block<s: ints = [1, 1]>(h, w2) }
        <domain: "my", opset_import: ["": 17, "my": 1]>
        Block <s>(x, w) => (y) { m = my.Inner<t: ints = @s>(x, w) y = Relu(m) }
        <domain: "my", opset_import: ["": 17]>
        Inner <t>(x, w) => (y) { y = Conv<pads = [1,1,1,1], strides: ints = @t>(x, w) }""",
        """g (float[2,3,16,16] x) => (float[2,8,8,8] y) <float[8,3,3,3] w1, float[8,8,3,3] w2> {
          a = Conv<pads = [1,1,1,1], strides = [2,2]>(x, w1) b = Relu(a)
          c = Conv<pads = [1,1,1,1], strides = [1,1]>(b, w2) y = Relu(c) }"""),
}


def _fill(graph, rng):
    """Declared names become weights, in graphs inside too."""
    for value in graph.value_info:
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        data = rng.standard_normal(shape).astype(np.float32)
        graph.initializer.append(numpy_helper.from_array(data, value.name))
    del graph.value_info[:]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _fill(attribute.g, rng)


def _model(text):
    head = _HEAD.replace('["": 17]', '["": 17, "my": 1]') if "my." in text else _HEAD
    model = parser.parse_model(head + text)
    rng = np.random.default_rng(0)
    _fill(model.graph, rng)
    onnx.checker.check_model(model)
    return model


def pairs():
    """(name, model, twin or None)."""
    for name, (text, twin) in _TEXTS.items():
        yield name, _model(text), _model(twin) if twin else None
