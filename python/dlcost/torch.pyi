from typing import Any, Mapping, Optional, Sequence, Union

from . import Model, Report

def report(module: Any, example_inputs: Any, gpu: Any = ..., *, changes: Union[str, Sequence[str]] = ...,
           opset: Optional[int] = ..., input_names: Sequence[str] = ...,
           dynamic_axes: Optional[Mapping[str, Mapping[int, str]]] = ..., dynamic_shapes: Any = ...,
           exporter: Optional[str] = ..., **keywords: Any) -> Report: ...
def load_module(module: Any, example_inputs: Any, *, opset: Optional[int] = ..., input_names: Sequence[str] = ...,
                dynamic_axes: Optional[Mapping[str, Mapping[int, str]]] = ..., dynamic_shapes: Any = ...,
                exporter: Optional[str] = ...) -> Model: ...
def export(module: Any, example_inputs: Any, *, opset: Optional[int] = ..., input_names: Sequence[str] = ...,
           dynamic_axes: Optional[Mapping[str, Mapping[int, str]]] = ..., dynamic_shapes: Any = ...,
           exporter: Optional[str] = ...) -> bytes: ...
