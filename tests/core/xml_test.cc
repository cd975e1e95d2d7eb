#include "estimator/core/xml.h"

#include <gtest/gtest.h>

namespace dlcost {
namespace {

TEST(EscapeXml, MarkupBecomesText) {
  EXPECT_EQ(EscapeXml("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
  EXPECT_EQ(EscapeXml("卷积 conv"), "卷积 conv");
}

TEST(EscapeXml, LeavesOutWhatXmlHasNot) {
  EXPECT_EQ(EscapeXml(std::string("a\x01\x1b[31m\r\0b", 10)), "a[31mb");
  EXPECT_EQ(EscapeXml("a\n\tb"), "a\n\tb");
  EXPECT_EQ(EscapeXml("a\x97"
                      "b\xd1"),
            "a\uFFFDb\uFFFD");
  EXPECT_EQ(EscapeXml("\uFFFE"), "\uFFFD");
}

}  // namespace
}  // namespace dlcost
