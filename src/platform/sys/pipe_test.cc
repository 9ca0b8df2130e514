#include "src/platform/sys/pipe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "testing/status_matchers.h"

namespace kgpu::sys {
namespace {

TEST(PipeTest, CarriesBytesAndIsNotInherited) {
  const StatusOr<Pipe> pipe = MakePipe();
  ASSERT_OK(pipe);
  ASSERT_EQ(write(pipe->write.get(), "ab", 2), 2);
  char bytes[4];
  EXPECT_EQ(read(pipe->read.get(), bytes, sizeof(bytes)), 2);
  for (const int fd : {pipe->read.get(), pipe->write.get()}) {
    EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
  }
}

TEST(PipeTest, OnlyTheEndThatIsReadDoesNotBlock) {
  const StatusOr<Pipe> pipe = MakeOutputPipe();
  ASSERT_OK(pipe);
  char byte = 0;
  EXPECT_EQ(read(pipe->read.get(), &byte, 1), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(fcntl(pipe->write.get(), F_GETFL) & O_NONBLOCK, 0);
}

}  // namespace
}  // namespace kgpu::sys
