#include "estimator/compare/belief.h"

#include <algorithm>

#include "estimator/compare/clues.h"

namespace dlcost {
namespace {

// Three files of four that people try are of other programs than the model at hand.
constexpr double kPrior = -1.6;

}  // namespace

double Along(double x, std::initializer_list<std::pair<double, double>> points) {
  const std::pair<double, double>* last = points.begin();
  for (const auto& point : points) {
    if (x <= point.first) {
      if (point.first <= last->first) return point.second;
      const double share = (x - last->first) / (point.first - last->first);
      return last->second + share * (point.second - last->second);
    }
    last = &point;
  }
  return last->second;
}

double Belief::bits() const {
  double sum = 0;
  for (const Clue& clue : clues) sum += clue.bits;
  return sum;
}

std::vector<std::string> Belief::Against() const {
  std::vector<Clue> sorted = clues;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Clue& a, const Clue& b) { return a.bits < b.bits; });
  std::vector<std::string> texts;
  for (const Clue& clue : sorted) {
    if (clue.bits < 0 && texts.size() < 3 && clue.text != clues.front().text)
      texts.push_back(clue.text);
  }
  if (texts.empty()) texts.emplace_back("too little in it says that it is");
  return texts;
}

Belief Believe(const Report& report, const Joined& joined, const std::optional<Device>& device) {
  Belief belief;
  const std::vector<Slot> slots = SlotsOf(report);
  const ClueSource source{report, joined, device, slots, belief};
  source.Add(kPrior, "files of other programs are common");
  AddFoundClues(source);
  AddCellClues(source);
  AddAmountClues(source);
  return belief;
}

}  // namespace dlcost
