#include "src/platform/net/rpc/status_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::rpc {
namespace {

TEST(StatusMapTest, KeepsEveryCodeBothWays) {
  for (int code = 1; code <= 16; ++code) {
    const Status ours = MakeStatus(static_cast<StatusCode>(code), "text");
    const grpc::Status theirs = ToGrpc(ours);
    EXPECT_EQ(static_cast<int>(theirs.error_code()), code);
    EXPECT_EQ(theirs.error_message(), "text");
    EXPECT_EQ(FromGrpc(theirs), ours);
  }
}

TEST(StatusMapTest, KeepsOk) {
  EXPECT_TRUE(ToGrpc(OkStatus()).ok());
  EXPECT_TRUE(FromGrpc(grpc::Status::OK).ok());
}

TEST(StatusMapTest, NamesTheCodeWhereThePeerGaveNoText) {
  EXPECT_EQ(Message(FromGrpc(grpc::Status(grpc::StatusCode::UNAVAILABLE, ""))), "UNAVAILABLE");
}

}  // namespace
}  // namespace kgpu::rpc
