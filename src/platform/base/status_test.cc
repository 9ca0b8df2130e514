#include "src/platform/base/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "src/platform/base/status_macros.h"
#include "testing/status_matchers.h"

namespace kgpu {
namespace {

using ::testing::HasSubstr;

TEST(StatusTest, MakersFormatTheirText) {
  EXPECT_THAT(InvalidArgument("{}:{}: replicas", "a.yaml", 14),
              StatusIs(StatusCode::kInvalidArgument, "a.yaml:14: replicas"));
}

TEST(StatusTest, AnOkCodeCannotBeMadeAnError) {
  EXPECT_THAT(MakeStatus(StatusCode::kOk, "x"), StatusIs(StatusCode::kInternal, "x"));
}

TEST(StatusTest, AnnotateKeepsTheCodeAndAddsWhatTheLayerKnows) {
  EXPECT_THAT(Annotate(NotFound("no such file"), "reading {}", "x.yaml"),
              StatusIs(StatusCode::kNotFound, "reading x.yaml: no such file"));
  EXPECT_TRUE(Annotate(OkStatus(), "reading").ok());
}

TEST(StatusTest, ErrnoBecomesACodeThatTellsWhatToDo) {
  const struct {
    int error;
    StatusCode code;
  } kCases[] = {{ENOENT, StatusCode::kNotFound},
                {EACCES, StatusCode::kPermissionDenied},
                {EPERM, StatusCode::kPermissionDenied},
                {ENOSPC, StatusCode::kResourceExhausted},
                {EMFILE, StatusCode::kResourceExhausted},
                {EROFS, StatusCode::kFailedPrecondition},
                {EAGAIN, StatusCode::kUnavailable},
                {ECONNREFUSED, StatusCode::kUnavailable},
                {ETIMEDOUT, StatusCode::kDeadlineExceeded},
                {ENOSYS, StatusCode::kUnimplemented},
                {EINVAL, StatusCode::kInvalidArgument},
                {EEXIST, StatusCode::kAlreadyExists},
                {EFAULT, StatusCode::kInternal}};
  for (const auto& c : kCases) {
    EXPECT_THAT(ErrnoStatus(c.error, "open x"), StatusIs(c.code, HasSubstr("open x: "))) << c.error;
  }
}

StatusOr<int> Half(int n) {
  if (n % 2 != 0) {
    return InvalidArgument("{} is odd", n);
  }
  return n / 2;
}

StatusOr<int> Quarter(int n) {
  ASSIGN_OR_RETURN(const int half, Half(n));
  ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

TEST(StatusMacrosTest, HandErrorsUpAndValuesOn) {
  EXPECT_THAT(Quarter(12), IsOkAndHolds(3));
  EXPECT_THAT(Quarter(6), StatusIs(StatusCode::kInvalidArgument, "3 is odd"));
}

}  // namespace
}  // namespace kgpu
