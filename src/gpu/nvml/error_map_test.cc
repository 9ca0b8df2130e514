#include "src/gpu/nvml/error_map.h"

#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::nvml {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): later drivers have more codes
const Return kNoCodeOfNvml = static_cast<Return>(77);

TEST(NvmlErrorMapTest, MapsEachKindOfCode) {
  struct Case {
    Return code;
    StatusCode status;
  };
  for (const Case& c : {Case{kErrorNotSupported, StatusCode::kUnimplemented},
                        Case{kErrorFunctionNotFound, StatusCode::kUnimplemented},
                        Case{kErrorNoPermission, StatusCode::kPermissionDenied},
                        Case{kErrorOperatingSystem, StatusCode::kPermissionDenied},
                        Case{kErrorDriverNotLoaded, StatusCode::kUnavailable},
                        Case{kErrorGpuIsLost, StatusCode::kUnavailable},
                        Case{kErrorUnknown, StatusCode::kUnavailable},
                        Case{kErrorLibRmVersionMismatch, StatusCode::kFailedPrecondition},
                        Case{kErrorResetRequired, StatusCode::kFailedPrecondition},
                        Case{kErrorTimeout, StatusCode::kDeadlineExceeded},
                        Case{kErrorMemory, StatusCode::kResourceExhausted},
                        Case{kErrorGpuNotFound, StatusCode::kNotFound}}) {
    EXPECT_THAT(ReturnStatus(c.code, "nvmlX"), StatusIs(c.status, HasSubstr("nvmlX: "))) << c.code;
  }
}

TEST(NvmlErrorMapTest, SuccessIsOk) {
  EXPECT_OK(ReturnStatus(kSuccess, "nvmlInit"));
}

TEST(NvmlErrorMapTest, EveryDocumentedCodeHasAText) {
  for (int code = 0; code <= 30; ++code) {
    EXPECT_NE(Explain(static_cast<Return>(code)), "unknown NVML return code") << code;
  }
  EXPECT_NE(Explain(kErrorUnknown), "unknown NVML return code");
}

TEST(NvmlErrorMapTest, KeepsTheNumberOfACodeItDoesNotKnow) {
  EXPECT_THAT(ReturnStatus(kNoCodeOfNvml, "nvmlX"),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("unknown NVML return code"), HasSubstr("77"))));
}

TEST(NvmlErrorMapTest, TellsAbilityFromFault) {
  EXPECT_TRUE(IsBenign(kSuccess));
  EXPECT_TRUE(IsBenign(kErrorNotSupported));
  EXPECT_TRUE(IsBenign(kErrorNoPermission));
  EXPECT_FALSE(IsBenign(kErrorGpuIsLost));
  EXPECT_FALSE(IsBenign(kErrorUnknown));
  EXPECT_FALSE(IsBenign(kNoCodeOfNvml));
}

TEST(NvmlErrorMapTest, KnowsWhenTheDriverIsGone) {
  EXPECT_TRUE(IsDriverGone(kErrorDriverNotLoaded));
  EXPECT_TRUE(IsDriverGone(kErrorLibRmVersionMismatch));
  EXPECT_TRUE(IsDriverGone(kErrorUninitialized));
  EXPECT_FALSE(IsDriverGone(kErrorGpuIsLost));
}

}  // namespace
}  // namespace kgpu::nvml
