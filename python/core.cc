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
      .def_rw("layout", &api::Options::layout)
      .def_rw("update_form", &api::Options::update_form)
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
      .def("text", &api::Device::Text, Free())
      .def("json", &api::Device::Json, Free());
  m.def("find_device", &api::FindDevice, "name"_a, "changes"_a, Free());
  m.def("find_devices", &api::FindDevices, "names"_a, "changes"_a, Free());
  m.def(
      "devices",
      [](const std::string& vendor, const std::string& kind, const std::string& year,
         const std::string& sort) {
        return api::Devices({.vendor = vendor, .kind = kind, .year = year, .sort = sort});
      },
      "vendor"_a, "kind"_a, "year"_a, "sort"_a, Free());

  nb::class_<api::Report> report(m, "Report");
  report.def_static("read", &api::Report::Read, "path"_a, Free())
      .def_static("from_json", &api::Report::FromJson, "json"_a, "name"_a, Free())
      .def_static("is_report_file", &api::Report::IsReportFile, "path"_a, Free())
      .def("json", &api::Report::Json, Free())
      .def("text", &api::Report::Text, "by"_a, "top"_a, "columns"_a, "plot"_a, Free())
      .def("csv", &api::Report::Csv, "by"_a, "top"_a, Free())
      .def("markdown", &api::Report::Markdown, "by"_a, "top"_a, Free())
      .def("view", &api::Report::View, "view"_a, "node"_a, Free())
      .def("perfetto", &api::Report::Perfetto, Free())
      .def("speedscope", &api::Report::Speedscope, Free())
      .def("annotated_model",
           [](const api::Report& made) {
             std::string model;
             {
               const nb::gil_scoped_release free;
               model = made.AnnotatedModel();
             }
             return nb::bytes(model.data(), model.size());
           })
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

  nb::class_<api::DeviceRanking>(m, "DeviceRanking")
      .def("text", &api::DeviceRanking::Text, Free())
      .def("json", &api::DeviceRanking::Json, Free())
      .def("csv", &api::DeviceRanking::Csv, Free());
  m.def("rank", &api::CompareDevices, "model"_a, "devices"_a, "bindings"_a, "options"_a, "ranked"_a,
        "top"_a, Free());

  nb::class_<api::Difference>(m, "Difference")
      .def("json", &api::Difference::Json, Free())
      .def("text", &api::Difference::Text, "top"_a, Free())
      .def("markdown", &api::Difference::Markdown, "top"_a, Free())
      .def("html", &api::Difference::Html, "title"_a, Free());
  m.def(
      "diff", [](const api::Report& a, const api::Report& b) { return api::Compare(a, b); },
      "before"_a, "after"_a, Free());

  nb::class_<api::DiffSide>(m, "DiffSide")
      .def(nb::init<>())
      .def_rw("path", &api::DiffSide::path)
      .def_rw("report", &api::DiffSide::report)
      .def_rw("model", &api::DiffSide::model)
      .def_rw("device", &api::DiffSide::device, nb::arg().none())
      .def_rw("bindings", &api::DiffSide::bindings)
      .def_rw("options", &api::DiffSide::options);
  m.def("diff_as", &api::CompareAs, "before"_a, "after"_a, "alike"_a, Free());

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
      .def("github", &api::Verdict::Github, Free())
      .def_prop_ro("passed", &api::Verdict::passed);
  nb::class_<api::Axis>(m, "Axis")
      .def(nb::init<>())
      .def_rw("name", &api::Axis::name)
      .def_rw("sizes", &api::Axis::sizes)
      .def_rw("batch", &api::Axis::batch)
      .def_rw("weights", &api::Axis::weights)
      .def_rw("list", &api::Axis::list);
  nb::class_<api::Baseline>(m, "Baseline")
      .def(nb::init<>())
      .def_rw("path", &api::Baseline::path)
      .def_rw("report", &api::Baseline::report)
      .def_rw("model", &api::Baseline::model);
  nb::class_<api::CheckRequest>(m, "CheckRequest")
      .def(nb::init<>())
      .def_rw("limits", &api::CheckRequest::limits)
      .def_rw("budget_file", &api::CheckRequest::budget_file)
      .def_rw("sizes", &api::CheckRequest::sizes)
      .def_rw("baselines", &api::CheckRequest::baselines)
      .def_rw("device", &api::CheckRequest::device, nb::arg().none())
      .def_rw("bindings", &api::CheckRequest::bindings)
      .def_rw("options", &api::CheckRequest::options)
      .def_rw("system", &api::CheckRequest::system, nb::arg().none())
      .def_rw("plan", &api::CheckRequest::plan)
      .def_rw("micro_batch", &api::CheckRequest::micro_batch)
      .def_rw("global_batch", &api::CheckRequest::global_batch);
  m.def(
      "check_model",
      [](const api::Model& model, const api::CheckRequest& request) {
        return api::CheckUnder(model, request);
      },
      "model"_a, "request"_a, Free());
  m.def(
      "check_report",
      [](const api::Report& made, const api::CheckRequest& request) {
        return api::CheckUnder(made, request);
      },
      "report"_a, "request"_a, Free());

  nb::class_<api::Measurements>(m, "Measurements")
      .def(nb::init<>())
      .def_rw("measured", &api::Measurements::measured)
      .def_rw("traces", &api::Measurements::traces)
      .def_rw("format", &api::Measurements::format)
      .def_rw("runs", &api::Measurements::runs, nb::arg().none())
      .def_rw("force", &api::Measurements::force);
  nb::class_<api::Comparison>(m, "Comparison")
      .def("json", &api::Comparison::Json, Free())
      .def("text", &api::Comparison::Text, "top"_a, "by"_a, Free())
      .def("markdown", &api::Comparison::Markdown, "top"_a, "by"_a, Free())
      .def(
          "outside",
          [](const api::Comparison& made, double low, double high) {
            std::vector<std::string> nodes;
            for (const api::ComparedKernel& kernel : made.outside(low, high)) {
              nodes.push_back(kernel.node);
            }
            return nodes;
          },
          "low"_a, "high"_a, Free())
      .def("csv", &api::Comparison::Csv, Free())
      .def("html", &api::Comparison::Html, "title"_a, Free())
      .def("report_html", &api::Comparison::ReportHtml, "title"_a, Free());
  m.def(
      "compare",
      [](const api::Report& a, const api::Measurements& b) { return api::Compare(a, b); },
      "report"_a, "measurements"_a, Free());

  nb::class_<api::SweepRequest>(m, "SweepRequest")
      .def(nb::init<>())
      .def_rw("axes", &api::SweepRequest::axes)
      .def_rw("devices", &api::SweepRequest::devices)
      .def_rw("dtypes", &api::SweepRequest::dtypes)
      .def_rw("bindings", &api::SweepRequest::bindings)
      .def_rw("options", &api::SweepRequest::options)
      .def_rw("bounds_only", &api::SweepRequest::bounds_only)
      .def_rw("runtimes", &api::SweepRequest::runtimes)
      .def_rw("optimizers", &api::SweepRequest::optimizers)
      .def_rw("precisions", &api::SweepRequest::precisions)
      .def_rw("served_alone", &api::SweepRequest::served_alone)
      .def_rw("buckets", &api::SweepRequest::buckets)
      .def_rw("conditions", &api::SweepRequest::conditions)
      .def_rw("rank", &api::SweepRequest::rank)
      .def_rw("price_per_hour", &api::SweepRequest::price_per_hour);
  nb::class_<api::Sweep>(m, "Sweep")
      .def("text", &api::Sweep::Text, "rows"_a, "plot"_a, Free())
      .def("svg", &api::Sweep::Svg, "dark"_a, "title"_a, Free())
      .def("json", &api::Sweep::Json, Free())
      .def("csv", &api::Sweep::Csv, Free())
      .def("html", &api::Sweep::Html, Free());
  m.def("sweep", &api::RunSweep, "model"_a, "request"_a, Free());

  nb::class_<Table>(m, "Table")
      .def(nb::init<const std::string&, const std::string&>(), "json"_a, "path"_a, Free())
      .def("__len__", &Table::rows)
      .def("__arrow_c_stream__", &Table::Stream, "requested_schema"_a.none() = nb::none());

  dlcost::python::AddQuestions(m);
  dlcost::python::AddKnowledge(m);

  // The program. Once in a process: its commands keep what they make to the end.
  // `models`: bytes that stand for names among the arguments.
  m.def("main", &Main, "arguments"_a, "models"_a);
}
