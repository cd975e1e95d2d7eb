#pragma once

#include <string_view>

#include "estimator/profiles/reader.h"

// The readers behind Readers(), one file each. Internal to this folder.
namespace dlcost {

bool IsSqlite(std::string_view head);
void ReadNsysSqlite(Input& input, Measurement& measurement);

bool IsNvvp(std::string_view head);
void ReadNvvp(Input& input, Measurement& measurement);

bool IsOnnxRuntime(std::string_view head);
void ReadOnnxRuntime(Input& input, Measurement& measurement);

bool IsChromeTrace(std::string_view head);
void ReadChromeTrace(Input& input, Measurement& measurement);

bool IsOneDnn(std::string_view head);
void ReadOneDnn(Input& input, Measurement& measurement);

bool IsNvprofText(std::string_view head);
void ReadNvprofText(Input& input, Measurement& measurement);

bool IsNvprof(std::string_view head);
void ReadNvprof(Input& input, Measurement& measurement);

bool IsNcu(std::string_view head);
void ReadNcu(Input& input, Measurement& measurement);

bool IsRocprof(std::string_view head);
void ReadRocprof(Input& input, Measurement& measurement);

bool IsDlprof(std::string_view head);
void ReadDlprof(Input& input, Measurement& measurement);

bool IsVTune(std::string_view head);
void ReadVTune(Input& input, Measurement& measurement);

bool IsNsysStats(std::string_view head);
void ReadNsysStats(Input& input, Measurement& measurement);

bool IsPlainCsv(std::string_view head);
void ReadPlainCsv(Input& input, Measurement& measurement);

}  // namespace dlcost
