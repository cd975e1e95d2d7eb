// What else can be asked of a model: formulas, explanations, jobs on many devices, profiles.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "dlcost/dlcost.h"
#include "renderings.h"

namespace nb = nanobind;
namespace api = dlcost::api;
using nb::literals::operator""_a;

namespace dlcost::python {
namespace {

void AddFormulas(nb::module_& m) {
  nb::class_<api::FormulaRequest>(m, "FormulaRequest")
      .def(nb::init<>())
      .def_rw("bindings", &api::FormulaRequest::bindings)
      .def_rw("options", &api::FormulaRequest::options)
      .def_rw("tied", &api::FormulaRequest::tied)
      .def_rw("around", &api::FormulaRequest::around);
  nb::class_<api::Formula>(m, "Formula")
      .def("at", &api::Formula::At, "quantity"_a, "sizes"_a, Free())
      .def("text", &api::Formula::Text, "by"_a, Free())
      .def("json", &api::Formula::Json, Free())
      .def("latex", &api::Formula::Latex, Free())
      .def("python", &api::Formula::Python, Free())
      .def("cpp", &api::Formula::Cpp, Free())
      // Key, title, formula for people ("" for none) and for Python.
      .def("quantities", [](const api::Formula& formula) {
        nb::list rows;
        for (const api::FormulaQuantity& quantity : formula.quantities()) {
          rows.append(nb::make_tuple(quantity.key, quantity.title, quantity.text, quantity.python));
        }
        return rows;
      });
  m.def("formula", &api::FindFormula, "model"_a, "request"_a, Free());
}

void AddExplanations(nb::module_& m) {
  nb::class_<api::Explanation>(m, "Explanation")
      .def("text", &api::Explanation::Text, Free())
      .def("json", &api::Explanation::Json, Free());
  m.def("explain", &api::Explain, "model"_a, "device"_a, "node"_a, "bindings"_a, "options"_a,
        Free());
}

void AddSystems(nb::module_& m) {
  nb::class_<api::System>(m, "System")
      .def_ro("id", &api::System::id)
      .def("text", &api::System::Text, Free())
      .def("json", &api::System::Json, Free());
  m.def("find_system", &api::FindSystem, "name"_a, Free());
  m.def("systems", &api::Systems, Free());
}

void AddPlans(nb::module_& m) {
  nb::class_<api::ParallelRequest>(m, "ParallelRequest")
      .def(nb::init<>())
      .def_rw("bindings", &api::ParallelRequest::bindings)
      .def_rw("options", &api::ParallelRequest::options)
      .def_rw("device", &api::ParallelRequest::device, nb::arg().none())
      .def_rw("plan", &api::ParallelRequest::plan)
      .def_rw("micro_batch", &api::ParallelRequest::micro_batch)
      .def_rw("global_batch", &api::ParallelRequest::global_batch)
      .def_rw("schedule", &api::ParallelRequest::schedule)
      .def_rw("devices", &api::ParallelRequest::devices)
      .def_rw("spread", &api::ParallelRequest::spread, nb::arg().none())
      .def_rw("expert_load", &api::ParallelRequest::expert_load)
      .def_rw("overlap", &api::ParallelRequest::overlap)
      .def_rw("bucket_bytes", &api::ParallelRequest::bucket_bytes, nb::arg().none())
      .def_rw("overlaps_gradients", &api::ParallelRequest::overlaps_gradients)
      .def_rw("gradients", &api::ParallelRequest::gradients)
      .def_rw("sums", &api::ParallelRequest::sums)
      .def_rw("fuses_sums", &api::ParallelRequest::fuses_sums);
  nb::class_<api::ParallelPlans>(m, "ParallelPlans")
      .def("text", &api::ParallelPlans::Text, "top"_a, Free())
      .def(
          "json", [](const api::ParallelPlans& plans) { return plans.Json(); }, Free());
  m.def("parallel", &api::Parallelize, "model"_a, "system"_a, "request"_a, Free());
}

void AddScaling(nb::module_& m) {
  nb::class_<api::InputPipeline>(m, "InputPipeline")
      .def(nb::init<>())
      .def_rw("item_bytes", &api::InputPipeline::item_bytes, nb::arg().none())
      .def_rw("stored_bytes", &api::InputPipeline::stored_bytes, nb::arg().none())
      .def_rw("storage_bytes_per_s", &api::InputPipeline::storage_bytes_per_s, nb::arg().none())
      .def_rw("host_link_bytes_per_s", &api::InputPipeline::host_link_bytes_per_s, nb::arg().none())
      .def_rw("decode_items_per_s", &api::InputPipeline::decode_items_per_s, nb::arg().none())
      .def_rw("augment_items_per_s", &api::InputPipeline::augment_items_per_s, nb::arg().none())
      .def_rw("cores", &api::InputPipeline::cores)
      .def_rw("prefetch", &api::InputPipeline::prefetch);
  nb::class_<api::ScaleRequest>(m, "ScaleRequest")
      .def(nb::init<>())
      .def_rw("devices", &api::ScaleRequest::devices)
      .def_rw("bindings", &api::ScaleRequest::bindings)
      .def_rw("options", &api::ScaleRequest::options)
      .def_rw("device", &api::ScaleRequest::device, nb::arg().none())
      .def_rw("strong", &api::ScaleRequest::strong)
      .def_rw("zero", &api::ScaleRequest::zero)
      .def_rw("bucket_bytes", &api::ScaleRequest::bucket_bytes, nb::arg().none())
      .def_rw("overlap", &api::ScaleRequest::overlap)
      .def_rw("gradients", &api::ScaleRequest::gradients)
      .def_rw("spread", &api::ScaleRequest::spread, nb::arg().none())
      .def_rw("input", &api::ScaleRequest::input)
      .def_rw("samples", &api::ScaleRequest::samples, nb::arg().none())
      .def_rw("price_per_hour", &api::ScaleRequest::price_per_hour, nb::arg().none());
  nb::class_<api::Scaling>(m, "Scaling")
      .def("text", &api::Scaling::Text, Free())
      .def("json", &api::Scaling::Json, Free())
      .def("perfetto", &api::Scaling::Perfetto, Free());
  m.def("scale", &api::Scale, "model"_a, "system"_a, "request"_a, Free());
}

void AddCollectives(nb::module_& m) {
  nb::class_<api::CollectiveRequest>(m, "CollectiveRequest")
      .def(nb::init<>())
      .def_rw("op", &api::CollectiveRequest::op)
      .def_rw("system", &api::CollectiveRequest::system, nb::arg().none())
      .def_rw("bandwidth_bytes_per_s", &api::CollectiveRequest::bandwidth_bytes_per_s,
              nb::arg().none())
      .def_rw("devices", &api::CollectiveRequest::devices)
      .def_rw("stride", &api::CollectiveRequest::stride)
      .def_rw("bytes", &api::CollectiveRequest::bytes)
      .def_rw("algorithm", &api::CollectiveRequest::algorithm)
      .def_rw("protocol", &api::CollectiveRequest::protocol);
  nb::class_<api::Collectives>(m, "Collectives")
      .def("text", &api::Collectives::Text, Free())
      .def("json", &api::Collectives::Json, Free());
  m.def("collective", &api::RunCollectives, "request"_a, Free());
}

void AddMeasured(nb::module_& m) {
  nb::class_<api::MeasuredRequest>(m, "MeasuredRequest")
      .def(nb::init<>())
      .def_rw("files", &api::MeasuredRequest::files)
      .def_rw("counters", &api::MeasuredRequest::counters)
      .def_rw("format", &api::MeasuredRequest::format)
      .def_rw("device", &api::MeasuredRequest::device, nb::arg().none())
      .def_rw("dtype", &api::MeasuredRequest::dtype);
  nb::class_<api::Measured>(m, "Measured")
      .def("text", &api::Measured::Text, "top"_a, Free())
      .def("json", &api::Measured::Json, Free())
      .def("csv", &api::Measured::Csv, Free())
      .def(
          "markdown", [](const api::Measured& measured) { return measured.Markdown(); }, Free())
      .def("html", &api::Measured::Html, "title"_a, Free());
  m.def("measured", &api::ReadMeasured, "request"_a, Free());
}

}  // namespace

void AddQuestions(nb::module_& m) {
  AddFormulas(m);
  AddExplanations(m);
  AddSystems(m);
  AddPlans(m);
  AddScaling(m);
  AddCollectives(m);
  AddMeasured(m);
}

}  // namespace dlcost::python
