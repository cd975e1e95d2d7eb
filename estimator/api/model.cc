#include "dlcost/model.h"

#include "estimator/api/state.h"
#include "estimator/infer/open_dims.h"
#include "estimator/open/open_model.h"

namespace dlcost::api {

Model::Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Model Model::Read(const std::string& path) {
  return Guarded([&] {
    return Model(std::make_shared<const State>(State{OpenModel(path), path != "-"}));
  });
}

Model Model::FromBytes(std::string_view bytes, const std::string& name) {
  return Guarded([&] {
    return Model(std::make_shared<const State>(State{OpenModelFromBytes(bytes, name), false}));
  });
}

const std::string& Model::path() const { return state_->model.path; }
const std::string& Model::producer() const { return state_->model.producer; }
std::map<std::string, int> Model::opset() const { return state_->model.opset; }
std::size_t Model::nodes() const { return state_->model.graph.nodes.size(); }

std::vector<std::string> Model::open_dims() const {
  std::vector<std::string> names;
  for (const OpenDim& dim : OpenDimsOf(state_->model)) names.push_back(dim.key);
  return names;
}

}  // namespace dlcost::api
