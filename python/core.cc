// dlcost._core: the public interface as Python sees it. Results are handed over as the JSON that
// the schemas in docs/schema describe, when they are looked at; dlcost/ makes typed objects of
// them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrow_stream.h"
#include "columns.h"
#include "dlcost/dlcost.h"
#include "estimator/cli/command_line.h"
#include "estimator/open/open_model.h"
#include "renderings.h"

namespace nb = nanobind;
namespace api = dlcost::api;
using nb::literals::operator""_a;

namespace {

using dlcost::python::AddRenderings;
using dlcost::python::Free;

// Rows of a result as a table that other libraries take as it is: Arrow's PyCapsule interface.
class Table {
 public:
  Table(const std::string& json, const std::string& path) {
    try {
      rows_ = dlcost::python::ColumnsOf(json, path);
    } catch (const std::exception& error) {
      throw api::Error(error.what());
    }
  }
  std::int64_t rows() const { return rows_->length(); }

  nb::capsule Stream(const nb::object& /*requested_schema*/) const {
    return {dlcost::python::NewStream(rows_), "arrow_array_stream", [](void* stream) noexcept {
              dlcost::python::DeleteStream(static_cast<ArrowArrayStream*>(stream));
            }};
  }

 private:
  std::shared_ptr<const dlcost::python::Column> rows_;
};

int Main(const std::vector<std::string>& arguments,
         const std::map<std::string, nb::bytes>& models) {
  for (const auto& [path, bytes] : models) {
    dlcost::ProvideModel(path, std::string(bytes.c_str(), bytes.size()));
  }
  const nb::gil_scoped_release free;
  std::vector<std::string> words = arguments;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return dlcost::CommandLine(static_cast<int>(words.size()), argv.data());
}

}  // namespace

NB_MODULE(_core, m) {
  m.attr("__version__") = DLCOST_VERSION;
  nb::exception<api::Error>(m, "Error", PyExc_ValueError);

  nb::class_<api::Bindings>(m, "Bindings")
      .def(nb::init<>())
      .def_rw("batch", &api::Bindings::batch, nb::arg().none())
      .def_rw("largest_batch", &api::Bindings::largest_batch)
      .def_rw("dims", &api::Bindings::dims)
      .def_rw("shapes", &api::Bindings::shapes)
      .def_rw("values", &api::Bindings::values)
      .def_rw("at", &api::Bindings::at)
      .def_rw("trips", &api::Bindings::trips)
      .def_rw("branches", &api::Bindings::branches)
      .def_rw("custom_operators", &api::Bindings::custom_operators)
      .def_rw("assume_typical", &api::Bindings::assume_typical);

  nb::class_<api::Options>(m, "Options")
      .def(nb::init<>())
      .def_rw("convention", &api::Options::convention)
      .def_rw("runtime", &api::Options::runtime)
      .def_rw("fusion", &api::Options::fusion)
      .def_rw("attention", &api::Options::attention)
      .def_rw("convolution", &api::Options::convolution)
      .def_rw("math", &api::Options::math)
      .def_rw("cache", &api::Options::cache)
      .def_rw("launch", &api::Options::launch)
      .def_rw("update", &api::Options::update)
      .def_rw("dtype", &api::Options::dtype)
      .def_rw("scope_depth", &api::Options::scope_depth)
      .def_rw("optimizer", &api::Options::optimizer)
      .def_rw("loss", &api::Options::loss)
      .def_rw("frozen", &api::Options::frozen)
      .def_rw("recompute", &api::Options::recompute)
      .def_rw("micro_batches", &api::Options::micro_batches)
      .def_rw("clip_norm", &api::Options::clip_norm, nb::arg().none())
      .def_rw("sparse_embeddings", &api::Options::sparse_embeddings)
      .def_rw("fit", &api::Options::fit)
      .def_rw("precision", &api::Options::precision);

  nb::class_<api::Model>(m, "Model")
      .def_static("read", &api::Model::Read, "path"_a, Free())
      .def_static(
          "from_bytes",
          [](const nb::bytes& bytes, const std::string& name) {
            const std::string_view view(bytes.c_str(), bytes.size());
            const nb::gil_scoped_release free;
            return api::Model::FromBytes(view, name);
          },
          "bytes"_a, "name"_a)
      .def_prop_ro("path", &api::Model::path)
      .def_prop_ro("producer", &api::Model::producer)
      .def_prop_ro("opset", &api::Model::opset)
      .def_prop_ro("open_dims", &api::Model::open_dims)
      .def_prop_ro("nodes", &api::Model::nodes);

  nb::class_<api::Device>(m, "Device")
      .def_ro("id", &api::Device::id)
      .def("json", &api::Device::Json, Free());
  m.def("find_device", &api::FindDevice, "name"_a, "changes"_a, Free());
  m.def("devices", &api::Devices, Free());

  nb::class_<api::Report> report(m, "Report");
  AddRenderings(report);
  report.def_static("read", &api::Report::Read, "path"_a, Free())
      .def_static("from_json", &api::Report::FromJson, "json"_a, "name"_a, Free())
      .def("text", &api::Report::Text, "by"_a, "top"_a, Free())
      .def("csv", &api::Report::Csv, "by"_a, Free())
      .def("html", &api::Report::Html, "title"_a, Free())
      .def("svg", &api::Report::Svg, "picture"_a, "dark"_a, "title"_a, Free());
  m.def("page", &api::Page, "reports"_a, "title"_a, Free());
  m.def("count", &api::Count, "model"_a, "device"_a.none(), "bindings"_a, "options"_a, Free());
  m.def(
      "train",
      [](const api::Model& model, const api::Bindings& bindings, const api::Options& options) {
        std::string step;
        {
          const nb::gil_scoped_release free;
          step = api::TrainingStep(model, bindings, options);
        }
        return nb::bytes(step.data(), step.size());
      },
      "model"_a, "bindings"_a, "options"_a);

  nb::class_<api::Difference> difference(m, "Difference");
  AddRenderings(difference);
  difference.def("text", &api::Difference::Text, "top"_a, Free())
      .def("html", &api::Difference::Html, "title"_a, Free());
  m.def(
      "diff", [](const api::Report& a, const api::Report& b) { return api::Compare(a, b); },
      "before"_a, "after"_a, Free());

  nb::class_<api::Limits>(m, "Limits")
      .def(nb::init<>())
      .def_rw("max", &api::Limits::max)
      .def_rw("fits_on", &api::Limits::fits_on)
      .def_rw("forbid_new_operators", &api::Limits::forbid_new_operators)
      .def_rw("strict", &api::Limits::strict)
      .def_rw("exact", &api::Limits::exact);
  nb::class_<api::Verdict> verdict(m, "Verdict");
  AddRenderings(verdict);
  verdict.def("text", &api::Verdict::Text, Free())
      .def("junit", &api::Verdict::Junit, Free())
      .def_prop_ro("passed", &api::Verdict::passed);
  m.def("check", &api::Check, "report"_a, "baseline"_a.none(), "limits"_a, Free());

  nb::class_<api::Measurements>(m, "Measurements")
      .def(nb::init<>())
      .def_rw("measured", &api::Measurements::measured)
      .def_rw("traces", &api::Measurements::traces)
      .def_rw("format", &api::Measurements::format)
      .def_rw("runs", &api::Measurements::runs, nb::arg().none())
      .def_rw("force", &api::Measurements::force);
  nb::class_<api::Comparison> comparison(m, "Comparison");
  AddRenderings(comparison);
  comparison.def("text", &api::Comparison::Text, "top"_a, Free())
      .def("csv", &api::Comparison::Csv, Free())
      .def("html", &api::Comparison::Html, "title"_a, Free())
      .def("report_html", &api::Comparison::ReportHtml, "title"_a, Free());
  m.def(
      "compare",
      [](const api::Report& a, const api::Measurements& b) { return api::Compare(a, b); },
      "report"_a, "measurements"_a, Free());

  nb::class_<api::Axis>(m, "Axis")
      .def(nb::init<>())
      .def_rw("name", &api::Axis::name)
      .def_rw("sizes", &api::Axis::sizes)
      .def_rw("batch", &api::Axis::batch);
  nb::class_<api::SweepRequest>(m, "SweepRequest")
      .def(nb::init<>())
      .def_rw("axes", &api::SweepRequest::axes)
      .def_rw("devices", &api::SweepRequest::devices)
      .def_rw("dtypes", &api::SweepRequest::dtypes)
      .def_rw("bindings", &api::SweepRequest::bindings)
      .def_rw("options", &api::SweepRequest::options)
      .def_rw("bounds_only", &api::SweepRequest::bounds_only);
  nb::class_<api::Sweep>(m, "Sweep")
      .def("text", &api::Sweep::Text, Free())
      .def("json", &api::Sweep::Json, Free())
      .def("csv", &api::Sweep::Csv, Free())
      .def("html", &api::Sweep::Html, Free());
  m.def("sweep", &api::RunSweep, "model"_a, "request"_a, Free());

  nb::class_<Table>(m, "Table")
      .def(nb::init<const std::string&, const std::string&>(), "json"_a, "path"_a, Free())
      .def("__len__", &Table::rows)
      .def("__arrow_c_stream__", &Table::Stream, "requested_schema"_a.none() = nb::none());

  dlcost::python::AddQuestions(m);

  // The program. Once in a process: its commands keep what they make to the end.
  // `models`: bytes that stand for names among the arguments.
  m.def("main", &Main, "arguments"_a, "models"_a);
}
