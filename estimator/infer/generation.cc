#include "models/operators/generation.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "estimator/core/error.h"
#include "estimator/graph/value_integer.h"
#include "estimator/infer/control_flow.h"
#include "estimator/infer/iterations.h"
#include "estimator/infer/trip_series.h"

namespace dlcost {
namespace {

// ONNX Runtime's text generation: BeamSearch, GreedySearch, Sampling, WhisperBeamSearch.
//
// A decoder alone (GPT) gets the prompt at once, then one token per step; init_decoder, where there
// is one, takes the prompt. With an encoder (T5, Whisper), that runs once at the batch, and the
// decoder from the first token on; encoders that take decoder_input_ids produce the first token
// themselves. The decoder runs with batch * beams rows. What the subgraphs get is told by the names
// of their inputs, which ONNX Runtime requires; past states grow by a token per step, or have room
// for all of them when the decoder also takes past_sequence_length.

constexpr std::int64_t kMaxFollowed = 10'000;  // steps, where they do not grow evenly

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

Known TensorOf(DType dtype, std::vector<std::int64_t> dims) {
  Known known;
  known.type.dtype = dtype;
  known.type.shape = Shape(std::move(dims));
  return known;
}

Known NumberOf(DType dtype, std::int64_t number) {
  Known known = TensorOf(dtype, {1});
  known.value = std::make_shared<const Value>(std::vector<std::int64_t>{number});
  return known;
}

class Generation {
 public:
  explicit Generation(ControlNode& control) : control_(control), decoder_(control.Body("decoder")) {
    beam_search_ = control.node().op.ends_with("BeamSearch");
    if (control.HasBody("encoder")) encoder_ = &control.Body("encoder");
  }

  void Run() {
    const InferenceDriver::Mark mark = control_.driver().Here();
    const std::optional<std::int64_t> chosen = FindExtents();
    if (encoder_ != nullptr) RunEncoder();
    std::int64_t left = steps_ - (encoder_ != nullptr && first_token_by_encoder_ ? 1 : 0);
    std::int64_t past = encoder_ != nullptr && first_token_by_encoder_ ? prompt_ : 0;
    if (left > 0 && past == 0 && (encoder_ == nullptr || prompt_ > 1)) {
      const Graph& first =
          control_.HasBody("init_decoder") ? control_.Body("init_decoder") : decoder_;
      NoteVocabulary(control_.Run(first, Feeds(first, prompt_, 0), 1, "prompt/"));
      past = prompt_;
      --left;
    }
    if (left > 0) RunDecoder(past, left);
    SetResults();
    if (!chosen) {
      control_.MarkUpperBound(mark, "ends before its " + std::to_string(steps_) +
                                        " tokens when all sequences have ended");
    }
  }

 private:
  std::int64_t Number(std::size_t input, const std::string& what, const std::string& or_else = "") {
    const Known known = control_.Input(input);
    if (known.value != nullptr && known.value->size() == 1) {
      if (const std::optional<std::int64_t> number = IntegerAt(*known.value, 0)) return *number;
      throw Error("its input {} ({}) is no integer", input, what);
    }
    if (!control_.HasInput(input)) throw Error("its input {} ({}) is missing", input, what);
    throw Unresolved(what + " is only known at run time: bind it with --value '" +
                     Printable(control_.InputName(input)) + "=N'" + or_else);
  }

  Shape ShapeOfInput(std::size_t input) {
    const Known known = control_.Input(input);
    if (!known.type.shape) throw Unresolved("the shape of its input is not known");
    return *known.type.shape;
  }

  // Fills in batch_, beams_, prompt_, longest_ and steps_; returns the steps that the user chose.
  std::optional<std::int64_t> FindExtents() {
    input_ = ShapeOfInput(0);
    if (input_.rank() < 2) throw Error("its input has the shape {}", ToString(input_));
    batch_ = input_[0];
    prompt_ = encoder_ == nullptr ? input_[1] : 1;
    constexpr std::size_t kDecoderIds = 10;  // Whisper's prompt
    if (encoder_ != nullptr && control_.HasInput(kDecoderIds)) {
      prompt_ = ShapeOfInput(kDecoderIds).At(-1);
    }
    const std::optional<std::int64_t> chosen = control_.driver().Trips(control_.name());
    constexpr std::size_t kMaxLength = 1, kBeams = 3;
    if (chosen && control_.HasInput(kMaxLength) && control_.Input(kMaxLength).value == nullptr) {
      control_.BindInput(kMaxLength, (Count(prompt_) + Count(*chosen)).value());
    }
    longest_ = Number(kMaxLength, "max_length", " or " + SuggestTrips(control_.name()));
    beams_ = beam_search_ ? Number(kBeams, "num_beams") : 1;
    if (batch_ < 0 || beams_ < 1 || longest_ < prompt_) {
      throw Error("a prompt of {} tokens, max_length {} and {} beams", prompt_, longest_, beams_);
    }
    steps_ = chosen ? std::min(*chosen, longest_ - prompt_) : longest_ - prompt_;
    rows_ = (Count(batch_) * beams_).value();
    return chosen;
  }

  void RunEncoder() {
    std::vector<Known> feeds;
    for (const TensorId id : encoder_->inputs) {
      const Tensor& input = encoder_->tensors[static_cast<std::size_t>(id)];
      const DType dtype = input.declared ? input.declared->dtype : DType::kInt32;
      if (feeds.empty()) {
        feeds.push_back(TensorOf(dtype, input_.dims()));
      } else if (Contains(input.name, "decoder_input_ids")) {
        feeds.push_back(TensorOf(dtype, {batch_, prompt_}));
        first_token_by_encoder_ = true;
      } else if (Contains(input.name, "mask")) {
        feeds.push_back(TensorOf(dtype, {batch_, input_[1]}));
      } else {
        throw Unresolved("what its encoder's input '" + Printable(input.name) +
                         "' gets is not known");
      }
    }
    const std::vector<Known> outputs = control_.Run(*encoder_, feeds, 1, "encoder/");
    if (first_token_by_encoder_) NoteVocabulary(outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      encoded_[encoder_->tensors[static_cast<std::size_t>(encoder_->outputs[i])].name] = outputs[i];
    }
  }

  // An output of the encoder, repeated for every beam.
  Known Encoded(const std::string& name) const {
    const auto found = encoded_.find(name);
    if (found == encoded_.end() || !found->second.type.shape ||
        found->second.type.shape->rank() == 0) {
      throw Unresolved("what its decoder gets for '" + Printable(name) + "' is not known");
    }
    Known known = TypeOnly(found->second);
    (*known.type.shape)[0] = rows_;
    return known;
  }

  static bool TakesPastLength(const Graph& graph) {
    return std::any_of(graph.inputs.begin(), graph.inputs.end(), [&](TensorId id) {
      return Contains(graph.tensors[static_cast<std::size_t>(id)].name, "past_sequence_length");
    });
  }

  // [2, rows, heads, past, size] of keys and values together, [rows, heads, past, size] of one.
  Known PastState(const Tensor& input, std::int64_t past) const {
    const auto unknown = [&] {
      return Unresolved("the size of its decoder's state '" + Printable(input.name) +
                        "' is not declared");
    };
    if (!input.declared || !input.declared->dims) throw unknown();
    const std::vector<Dim>& dims = *input.declared->dims;
    const std::size_t rank = dims.size();
    if (rank != 4 && rank != 5) throw unknown();
    std::int64_t heads = dims[rank - 3].size, size = dims[rank - 1].size;
    std::string present = input.name;
    present.replace(0, std::string_view("past").size(), "present");
    if ((heads < 0 || size < 0) && encoded_.count(present) != 0) {
      const Shape like = *Encoded(present).type.shape;
      heads = like.At(1);
      size = like.At(-1);
    }
    if (heads < 0 || size < 0) throw unknown();
    std::vector<std::int64_t> shape = {rows_, heads, past, size};
    if (rank == 5) shape.insert(shape.begin(), 2);
    return TensorOf(input.declared->dtype, std::move(shape));
  }

  // What a run of a decoder gets for `tokens` new ones behind `past`.
  std::vector<Known> Feeds(const Graph& graph, std::int64_t tokens, std::int64_t past) const {
    const bool shared = TakesPastLength(graph);
    const std::int64_t keys = tokens + past;
    std::vector<Known> feeds;
    for (const TensorId id : graph.inputs) {
      const Tensor& input = graph.tensors[static_cast<std::size_t>(id)];
      const std::string& name = input.name;
      const DType dtype = input.declared ? input.declared->dtype : DType::kInt32;
      if (name == "input_ids") {
        feeds.push_back(TensorOf(dtype, {rows_, TokensGiven(input, tokens, past)}));
      } else if (name == "position_ids") {
        feeds.push_back(TensorOf(dtype, {rows_, tokens}));
      } else if (name == "attention_mask") {
        feeds.push_back(TensorOf(dtype, {rows_, keys}));
      } else if (name == "encoder_attention_mask") {
        feeds.push_back(TensorOf(dtype, {rows_, input_[1]}));
      } else if (Contains(name, "past_sequence_length")) {
        feeds.push_back(NumberOf(dtype, past));
      } else if (name == "beam_width" || name == "num_beams") {
        feeds.push_back(NumberOf(dtype, beams_));
      } else if (name == "cache_indirection") {
        feeds.push_back(TensorOf(dtype, {batch_, beams_, longest_}));
      } else if (name.starts_with("past") && Contains(name, "cross")) {
        feeds.push_back(Encoded("present" + name.substr(std::string_view("past").size())));
      } else if (name.starts_with("past")) {
        feeds.push_back(PastState(input, shared ? longest_ : past));
      } else {
        feeds.push_back(Encoded(name));  // encoder_hidden_states
      }
    }
    return feeds;
  }

  // Decoders behind an encoder get the whole sequence unless they declare to take one token.
  std::int64_t TokensGiven(const Tensor& ids, std::int64_t tokens, std::int64_t past) const {
    if (encoder_ == nullptr || !ids.declared || !ids.declared->dims) return tokens;
    const std::vector<Dim>& dims = *ids.declared->dims;
    return dims.size() == 2 && dims[1].size == 1 ? tokens : tokens + past;
  }

  void RunDecoder(std::int64_t past, std::int64_t steps) {
    InferenceDriver& driver = control_.driver();
    const Iteration step = [&](const std::vector<Known>&, std::int64_t number) {
      NoteVocabulary(control_.Run(decoder_, Feeds(decoder_, 1, past + number), 1, "decoder/"));
      return std::vector<Known>();
    };
    if (steps > static_cast<std::int64_t>(TripSeries::kTrips) &&
        SumInClosedForm(driver, step, {}, steps)) {
      return;
    }
    const auto nodes = static_cast<std::int64_t>(decoder_.nodes.size());
    if (steps > kMaxFollowed || !driver.CanFollow(Count(nodes) * steps)) {
      throw Unresolved("its " + std::to_string(steps) + " steps do not grow evenly");
    }
    FollowEach(driver, step, {}, steps);
  }

  // Logits are the first output: [rows, tokens, vocabulary].
  void NoteVocabulary(const std::vector<Known>& outputs) {
    if (outputs.empty() || !outputs[0].type.shape || outputs[0].type.shape->rank() == 0) return;
    vocabulary_ = outputs[0].type.shape->At(-1);
  }

  void SetResults() {
    OpContext ctx = control_.Context();
    control_.counted().def->infer(ctx);
    OpCost cost =
        CostOfGeneration(ctx, {.steps = steps_, .rows = rows_, .vocabulary = vocabulary_});
    const Count repeat = control_.repeat();
    cost.work.Scale(repeat);
    for (Access& access : cost.accesses) access.bytes = access.bytes * repeat;
    control_.counted().cost = std::move(cost);
  }

  ControlNode& control_;
  const Graph& decoder_;
  const Graph* encoder_ = nullptr;
  bool beam_search_ = false, first_token_by_encoder_ = false;
  Shape input_;
  std::int64_t batch_ = 1, beams_ = 1, rows_ = 1;
  std::int64_t prompt_ = 1, longest_ = 1, steps_ = 0;  // tokens
  std::int64_t vocabulary_ = 0;
  std::map<std::string, Known> encoded_;  // outputs of the encoder by name
};

}  // namespace

void RunGeneration(ControlNode& control) {
  Generation generation(control);
  try {
    generation.Run();
  } catch (const Error& error) {
    // What the subgraphs get is an interpretation of names: it may not fit.
    throw Unresolved(std::string("its subgraphs do not fit what they are given: ") + error.what());
  }
}

}  // namespace dlcost
