#include <gmock/gmock.h>
#include <sqlite3.h>

#include "estimator/core/error.h"
#include "tests/profiles/fixture.h"
#include "tests/profiles/sqlite_text.h"

namespace dlcost {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The tables of nvprof --export-profile that dlcost reads: two markers that nest on thread 9 of
// process 5 (objectId), a kernel that runs after its range has ended, one without an end.
constexpr char kNvvpExport[] = R"(
CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringTable VALUES (1, '_Z4convPf'), (2, 'layer1'), (3, 'step');
CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (_id_ INTEGER PRIMARY KEY, flags INT, timestamp INT, id INT, objectKind INT,
  objectId BLOB, name INT, domain INT);
INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES
  (1, 2, 100, 1, 2, x'0500000009000000', 3, 0), (2, 2, 150, 2, 2, x'0500000009000000', 2, 0),
  (3, 4, 250, 2, 2, x'0500000009000000', 0, 0), (4, 4, 900, 1, 2, x'0500000009000000', 0, 0);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_ INTEGER PRIMARY KEY, cbid INT, start INT, end INT, processId INT,
  threadId INT, correlationId INT, returnValue INT);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 211, 160, 170, 5, 9, 41, 0), (2, 41, 300, 310, 5, 9, 42, 0);
CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (_id_ INTEGER PRIMARY KEY, start INT, end INT, deviceId INT,
  contextId INT, streamId INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT,
  correlationId INT, name INT);
INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES (1, 400, 1400, 0, 1, 7, 24, 2, 1, 256, 1, 1, 41, 1),
  (2, 1500, 0, 0, 1, 7, 24, 2, 1, 256, 1, 1, 43, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (_id_ INTEGER PRIMARY KEY, copyKind INT, bytes INT, start INT, end INT,
  deviceId INT, streamId INT, correlationId INT);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 1, 4096, 1500, 1600, 0, 7, 42);
)";

TEST(Nvvp, KernelsBelongToTheMarkersThatLaunchedThem) {
  const Measurement m = ReadText(SqliteBytes(kNvvpExport));
  EXPECT_EQ(m.format, "nvvp");
  ASSERT_EQ(m.kernels.size(), 2u);
  EXPECT_EQ(m.kernels[0].name, "_Z4convPf");
  EXPECT_EQ(m.kernels[0].op, "layer1");
  EXPECT_THAT(m.kernels[0].scope, ElementsAre("step", "layer1"));
  EXPECT_EQ(m.kernels[0].start_ns, 400);
  EXPECT_DOUBLE_EQ(m.kernels[0].duration->value(), 1e-6);
  EXPECT_THAT(m.kernels[0].grid.value(), ElementsAre(24, 2, 1));
  EXPECT_EQ(m.kernels[0].stream, "7");
  EXPECT_EQ(m.kernels[1].kind, MeasuredKind::kCopy);
  EXPECT_EQ(m.kernels[1].op, "step");
  EXPECT_THAT(m.notes, ElementsAre("1 record without an end left out"));
}

TEST(Nvvp, CountersWithoutNamesAreSaid) {
  const Measurement m =
      ReadText(SqliteBytes(std::string(kNvvpExport) +
                           "CREATE TABLE CUPTI_ACTIVITY_KIND_METRIC (_id_ INT, id INT, value BLOB);"
                           "INSERT INTO CUPTI_ACTIVITY_KIND_METRIC VALUES (1, 77, x'00');"));
  EXPECT_THAT(m.notes.at(0), HasSubstr("numbers instead of names"));
}

TEST(Nvvp, DamagedDatabases) {
  EXPECT_THAT(ErrorOf(SqliteBytes(std::string(kNvvpExport) +
                                  "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET end = 3;")),
              HasSubstr("an event ends before it begins"));
  EXPECT_NE(ErrorOf(SqliteBytes(kNvvpExport).substr(0, 9000)), "");
  EXPECT_THAT(ErrorOf(SqliteBytes("CREATE TABLE StringTable (_id_ INT, value TEXT);")),
              HasSubstr("read as nvvp, but there is no measured kernel in it"));
}

}  // namespace
}  // namespace dlcost
