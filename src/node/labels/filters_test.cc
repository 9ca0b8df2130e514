#include "src/node/labels/filters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/status_matchers.h"

namespace kgpu::labels {
namespace {

using testing::HasSubstr;

TEST(FiltersTest, LabelsOfKubernetesAreItsOwn) {
  const Filters filters;
  EXPECT_OK(CheckLabel(filters, "feature.node.kubernetes.io/a", "b"));
  EXPECT_OK(CheckLabel(filters, "vendor.io/a", ""));
  EXPECT_THAT(CheckLabel(filters, "node.kubernetes.io/a", "b"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("belong to Kubernetes")));
  EXPECT_THAT(
      CheckLabel(filters, "vendor.io/a", "b c"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"vendor.io/a\": \"b c\": a label")));
}

TEST(FiltersTest, NamespacesAreDeniedByNameOrEnding) {
  Filters filters;
  filters.denied_namespaces = {"vendor.io", "*.bad.io"};
  filters.extra_namespaces = {"good.bad.io", "node.kubernetes.io"};
  for (const std::string_view key : {"vendor.io/a", "x.bad.io/a", "y.x.bad.io/a"}) {
    EXPECT_THAT(CheckLabel(filters, key, "b"),
                StatusIs(StatusCode::kPermissionDenied, HasSubstr("denied by the configuration")))
        << key;
  }
  for (const std::string_view key :
       {"x.vendor.io/a", "bad.io/a", "good.bad.io/a", "node.kubernetes.io/a"}) {
    EXPECT_OK(CheckLabel(filters, key, "b")) << key;
  }
}

TEST(FiltersTest, AStarDeniesAllThatIsNotExtra) {
  Filters filters;
  filters.denied_namespaces = {"*"};
  filters.extra_namespaces = {"good.io"};
  EXPECT_OK(CheckLabel(filters, "good.io/a", "b"));
  EXPECT_THAT(CheckLabel(filters, "feature.node.kubernetes.io/a", "b"),
              StatusIs(StatusCode::kPermissionDenied));
}

TEST(FiltersTest, TheWhiteListIsHeldAgainstTheNameBehindTheSlash) {
  Filters filters;
  const auto pattern = Pattern::Compile("^cpu-");
  ASSERT_OK(pattern);
  filters.label_allow = {*pattern};
  EXPECT_OK(CheckLabel(filters, "feature.node.kubernetes.io/cpu-x", "b"));
  EXPECT_THAT(CheckLabel(filters, "cpu-vendor.io/x", "b"),
              StatusIs(StatusCode::kPermissionDenied, HasSubstr("allow list \"^cpu-\"")));
}

TEST(FiltersTest, AnnotationsResourcesAndTaintsNeedANamespaceOfTheirOwn) {
  EXPECT_OK(CheckAnnotation("vendor.io/a", std::string(1024, 'x')));
  EXPECT_THAT(CheckAnnotation("vendor.io/a", std::string(1025, 'x')),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("1025 bytes")));
  EXPECT_THAT(CheckAnnotation("kubernetes.io/a", "b"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_OK(CheckExtendedResource("vendor.io/a", "5"));
  EXPECT_THAT(CheckExtendedResource("a", "5"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(CheckExtendedResource("vendor.io/a", "x"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_OK(CheckTaint({"vendor.io/a", "", "NoSchedule"}));
  EXPECT_OK(CheckTaint({"feature.node.kubernetes.io/a", "b", "NoExecute"}));
  EXPECT_THAT(CheckTaint({"profile.node.kubernetes.io/a", "b", "NoExecute"}),
              StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(CheckTaint({"a", "b", "NoExecute"}), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(CheckTaint({"vendor.io/a", "b c", "NoExecute"}),
              StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(CheckTaint({"vendor.io/a", "b", ""}), StatusIs(StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace kgpu::labels
