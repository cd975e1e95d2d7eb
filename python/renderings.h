#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

namespace dlcost::python {

// Runs without the interpreter's lock: threads count at the same time.
using Free = nanobind::call_guard<nanobind::gil_scoped_release>;

// JSON and other text of a result, as str.
template <typename Result>
void AddRenderings(nanobind::class_<Result>& result) {
  result.def("json", &Result::Json, Free()).def("markdown", &Result::Markdown, Free());
}

// What else can be asked of a model: formulas, explanations, jobs on many devices, profiles.
void AddQuestions(nanobind::module_& m);

// What dlcost knows, and what is fitted to measurements: runtimes, operators, networks, inputs.
void AddKnowledge(nanobind::module_& m);

}  // namespace dlcost::python
