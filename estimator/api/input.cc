#include "dlcost/input.h"

#include "estimator/api/state.h"
#include "estimator/request/input.h"

namespace dlcost::api {

struct InputBounds::State {
  dlcost::InputBounds bounds;
};

InputBounds::InputBounds(std::shared_ptr<const State> state) : state_(std::move(state)) {}

InputBounds BoundInput(const InputRequest& request) {
  return Guarded([&] {
    const dlcost::InputRequest asked{
        .input = InputOptionsOf(request.input),
        .system = request.system ? &request.system->state().system : nullptr,
        .devices = request.devices,
        .compute_items_per_s = request.compute_items_per_s,
        .compute_flops_per_s = request.compute_flops_per_s,
        .flops_per_item = request.flops_per_item};
    return InputBounds(
        std::make_shared<const InputBounds::State>(InputBounds::State{dlcost::BoundInput(asked)}));
  });
}

std::vector<InputStage> InputBounds::stages() const {
  std::vector<InputStage> stages;
  for (const dlcost::InputStage& stage : state_->bounds.stages) {
    stages.push_back({stage.name, stage.rate, stage.how});
  }
  return stages;
}
std::string InputBounds::bound_by() const { return state_->bounds.slowest.name; }
double InputBounds::items_per_s() const { return state_->bounds.slowest.rate; }
std::string InputBounds::Text() const {
  return Guarded([&] { return InputText(state_->bounds); });
}
std::string InputBounds::Json() const {
  return Guarded([&] { return InputJson(state_->bounds); });
}

}  // namespace dlcost::api
