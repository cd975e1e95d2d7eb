#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "estimator/profiles/reader.h"

namespace dlcost {

inline std::string FixturePath(const std::string& name) {
  return std::string(DLCOST_SOURCE_DIR) + "/tests/profiles/fixtures/" + name;
}

inline Measurement ReadFixture(const std::string& name) {
  return ReadMeasurementFile(FixturePath(name));
}

inline Measurement ReadText(const std::string& text, const std::string& format = "") {
  return ReadMeasurement(Input::FromMemory("profile", text), {.format = format});
}

// The message of the error that reading `text` ends in; "" when it is read.
inline std::string ErrorOf(const std::string& text, const std::string& format = "") {
  try {
    ReadText(text, format);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

inline double CounterOf(const MeasuredKernel& kernel, Metric metric) {
  const Counter* counter = kernel.Find(metric);
  return counter ? counter->value : -1;
}

}  // namespace dlcost
