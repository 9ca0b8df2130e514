#include "src/platform/net/http/status_code.h"

#include <gtest/gtest.h>

#include <utility>

#include "testing/status_matchers.h"

namespace kgpu::http {
namespace {

TEST(StatusCodeTest, TellsClientsWhatStatusesTellCallers) {
  for (const auto& [status, code] :
       {std::pair{OkStatus(), 200}, std::pair{InvalidArgument("x"), 400},
        std::pair{PermissionDenied("x"), 403}, std::pair{NotFound("x"), 404},
        std::pair{AlreadyExists("x"), 409}, std::pair{FailedPrecondition("x"), 412},
        std::pair{OutOfRange("x"), 413}, std::pair{ResourceExhausted("x"), 429},
        std::pair{Internal("x"), 500}, std::pair{Unimplemented("x"), 501},
        std::pair{Unavailable("x"), 503}, std::pair{DeadlineExceeded("x"), 504}}) {
    EXPECT_EQ(CodeOf(status), code) << status;
  }
}

TEST(StatusCodeTest, TellsCallersWhatAnswersMean) {
  for (const auto& [code, status] :
       {std::pair{200, StatusCode::kOk}, std::pair{304, StatusCode::kOk},
        std::pair{400, StatusCode::kInvalidArgument}, std::pair{401, StatusCode::kUnauthenticated},
        std::pair{403, StatusCode::kPermissionDenied}, std::pair{404, StatusCode::kNotFound},
        std::pair{409, StatusCode::kAlreadyExists}, std::pair{418, StatusCode::kInvalidArgument},
        std::pair{429, StatusCode::kResourceExhausted}, std::pair{500, StatusCode::kUnavailable},
        std::pair{502, StatusCode::kUnavailable}, std::pair{504, StatusCode::kDeadlineExceeded}}) {
    EXPECT_EQ(StatusOf(code, "text").code(), status) << code;
  }
  EXPECT_THAT(StatusOf(404, "/x: gone"), StatusIs(StatusCode::kNotFound, "/x: gone"));
}

TEST(StatusCodeTest, NamesCodes) {
  EXPECT_EQ(ReasonPhrase(404), "Not Found");
  EXPECT_EQ(ReasonPhrase(299), "Unknown");
}

}  // namespace
}  // namespace kgpu::http
