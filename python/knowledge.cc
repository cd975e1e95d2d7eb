// What dlcost knows, and what is fitted to measurements: runtimes, operators, networks, inputs.
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

void AddInputs(nb::module_& m) {
  nb::class_<api::InputRequest>(m, "InputRequest")
      .def(nb::init<>())
      .def_rw("input", &api::InputRequest::input)
      .def_rw("system", &api::InputRequest::system, nb::arg().none())
      .def_rw("devices", &api::InputRequest::devices)
      .def_rw("compute_items_per_s", &api::InputRequest::compute_items_per_s, nb::arg().none())
      .def_rw("compute_flops_per_s", &api::InputRequest::compute_flops_per_s, nb::arg().none())
      .def_rw("flops_per_item", &api::InputRequest::flops_per_item, nb::arg().none());
  nb::class_<api::InputBounds>(m, "InputBounds")
      .def("text", &api::InputBounds::Text, Free())
      .def("json", &api::InputBounds::Json, Free());
  m.def("input", &api::BoundInput, "request"_a, Free());
}

void AddFits(nb::module_& m) {
  nb::class_<api::FitRequest>(m, "FitRequest")
      .def(nb::init<>())
      .def_rw("path", &api::FitRequest::path)
      .def_rw("x", &api::FitRequest::x)
      .def_rw("y", &api::FitRequest::y)
      .def_rw("terms", &api::FitRequest::terms)
      .def_rw("expected", &api::FitRequest::expected);
  nb::class_<api::FittedRuns>(m, "FittedRuns")
      .def("text", &api::FittedRuns::Text, Free())
      .def("json", &api::FittedRuns::Json, Free());
  m.def("fit", &api::FitRuns, "request"_a, Free());

  nb::class_<api::CalibrationRequest>(m, "CalibrationRequest")
      .def(nb::init<>())
      .def_rw("devices", &api::CalibrationRequest::devices)
      .def_rw("tables", &api::CalibrationRequest::tables)
      .def_rw("sources", &api::CalibrationRequest::sources)
      .def_rw("fixed", &api::CalibrationRequest::fixed)
      .def_rw("changes", &api::CalibrationRequest::changes)
      .def_rw("common", &api::CalibrationRequest::common)
      .def_rw("fit_share", &api::CalibrationRequest::fit_share)
      .def_rw("sample", &api::CalibrationRequest::sample)
      .def_rw("iterations", &api::CalibrationRequest::iterations, nb::arg().none())
      .def_rw("prior", &api::CalibrationRequest::prior, nb::arg().none());
  nb::class_<api::TimingScore>(m, "TimingScore")
      .def_ro("rows", &api::TimingScore::rows)
      .def_ro("mean", &api::TimingScore::mean)
      .def_ro("median", &api::TimingScore::median)
      .def_ro("bias", &api::TimingScore::bias);
  nb::class_<api::CalibratedConstant>(m, "CalibratedConstant")
      .def_ro("name", &api::CalibratedConstant::name)
      .def_ro("start", &api::CalibratedConstant::start)
      .def_ro("value", &api::CalibratedConstant::value)
      .def_ro("unit", &api::CalibratedConstant::unit)
      .def_ro("relative_error", &api::CalibratedConstant::relative_error)
      .def_ro("refused", &api::CalibratedConstant::refused);
  nb::class_<api::CalibratedTiming>(m, "CalibratedTiming")
      .def_ro("devices", &api::CalibratedTiming::devices)
      .def_ro("constants", &api::CalibratedTiming::constants)
      .def_ro("before", &api::CalibratedTiming::before)
      .def_ro("held_out", &api::CalibratedTiming::held_out)
      .def_ro("fitted", &api::CalibratedTiming::fitted)
      .def_ro("yaml", &api::CalibratedTiming::yaml);
  m.def("calibrate", &api::Calibrate, "request"_a, Free());
}

void AddOperators(nb::module_& m) {
  nb::class_<api::Operator>(m, "Operator")
      .def_ro("name", &api::Operator::name)
      .def_ro("domain", &api::Operator::domain)
      .def_ro("versions", &api::Operator::versions)
      .def_ro("removed_in", &api::Operator::removed_in)
      .def_ro("formula", &api::Operator::formula)
      .def_ro("derivative", &api::Operator::derivative);
  m.def("operators", &api::Operators, "domain"_a, Free());
  m.def("operator_text", &api::OperatorText, "name"_a, Free());
}

void AddNetworks(nb::module_& m) {
  nb::class_<api::Network::Setting>(m, "NetworkSetting")
      .def_ro("name", &api::Network::Setting::name)
      .def_ro("standard", &api::Network::Setting::standard)
      .def_ro("description", &api::Network::Setting::description);
  nb::class_<api::Network>(m, "Network")
      .def_ro("name", &api::Network::name)
      .def_ro("description", &api::Network::description)
      .def_ro("settings", &api::Network::settings);
  m.def("networks", &api::Networks, Free());
  m.def(
      "network",
      [](const std::string& name, const std::map<std::string, std::string>& settings) {
        std::string model;
        {
          const nb::gil_scoped_release free;
          model = api::BuildNetwork(name, settings);
        }
        return nb::bytes(model.data(), model.size());
      },
      "name"_a, "settings"_a);
}

}  // namespace

void AddKnowledge(nb::module_& m) {
  AddInputs(m);
  AddFits(m);
  AddOperators(m);
  AddNetworks(m);
  m.def(
      "runtime_text", [](const std::string& name) { return api::FindRuntime(name).text; }, "name"_a,
      Free());
  m.def("runtimes_text", &api::RuntimesText, Free());
  m.def("runtimes_json", &api::RuntimesJson, "name"_a, Free());
}

}  // namespace dlcost::python
