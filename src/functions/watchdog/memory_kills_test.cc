#include "src/functions/watchdog/memory_kills.h"

#include <gtest/gtest.h>

#include "testing/temp_dir.h"

namespace kgpu::watchdog {
namespace {

TEST(MemoryKillsTest, ReadsBothVersionsOfCgroups) {
  EXPECT_EQ(ParseMemoryKills("low 0\nhigh 3\nmax 12\noom 2\noom_kill 7\noom_group_kill 0\n"), 7U);
  EXPECT_EQ(ParseMemoryKills("oom_kill_disable 0\nunder_oom 0\noom_kill 4\n"), 4U);
  for (const char* text : {"", "oom_kill", "oom_kill x\n", "oom_kill 1 2\n"}) {
    EXPECT_EQ(ParseMemoryKills(text), 0U) << text;
  }
}

TEST(MemoryKillsTest, FindsTheFileOfTheContainer) {
  TempDir dir;
  const sys::Root root = sys::Root::Open(dir.path()).value();
  EXPECT_EQ(MemoryKills(root), 0U);
  dir.WriteFile("sys/fs/cgroup/memory/memory.oom_control", "oom_kill 2\n");
  EXPECT_EQ(MemoryKills(root), 2U);
  dir.WriteFile("sys/fs/cgroup/memory.events", "oom_kill 3\n");
  EXPECT_EQ(MemoryKills(root), 3U);
}

}  // namespace
}  // namespace kgpu::watchdog
