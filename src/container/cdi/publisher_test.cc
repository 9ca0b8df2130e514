#include "src/container/cdi/publisher.h"

#include <sys/mount.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/container/cdi/spec_text.h"
#include "testing/fake_clock.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::cdi {
namespace {

using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kOwn = "/run/cdi/kgpu-kgpu.dev-gpu.json";
constexpr std::string_view kTimes = "/run/cdi/kgpu-kgpu.dev-gpu.kept";
constexpr std::string_view kNvidia = "/run/cdi/kgpu-nvidia.com-gpu.json";

Spec SpecOf(const std::string& kind, const std::vector<std::string>& names) {
  Spec spec;
  spec.kind = kind;
  for (const std::string& name : names) {
    Device& device = spec.devices.emplace_back();
    device.name = name;
    device.edits.env = {"NAME=" + name};
  }
  spec.edits.env = {"DRIVER=" + std::to_string(names.size())};
  return spec;
}

class PublisherTest : public ::testing::Test {
 protected:
  Publisher MakePublisher() {
    PublisherOptions options;
    options.folder = "/run/cdi";
    options.folders = {"/etc/cdi", "/run/cdi"};
    return Publisher(root_, root_, clock_, options);
  }

  StatusOr<PublishReport> Publish(const std::vector<std::string>& names) {
    return MakePublisher().Publish({SpecOf("kgpu.dev/gpu", names)});
  }

  // Names of the devices in our file, in order; empty when it is not there.
  std::vector<std::string> Names(std::string_view path = kOwn) {
    const auto text = root_.ReadFile(path);
    if (!text.ok()) {
      return {};
    }
    const auto spec = ParseSpec(*text, doc::Format::kJson, path);
    EXPECT_OK(spec);
    std::vector<std::string> names;
    for (const Device& device : spec->devices) {
      names.push_back(device.name);
    }
    return names;
  }

  TempDir dir_;
  sys::Root root_{*sys::Root::Open(dir_.path())};
  FakeClock clock_;
};

TEST_F(PublisherTest, WritesAndVerifies) {
  const auto report = Publish({"0", "all"});
  ASSERT_OK(report);
  EXPECT_THAT(report->written, ElementsAre(kOwn));
  EXPECT_THAT(report->findings, IsEmpty());
  EXPECT_THAT(report->notes, IsEmpty());
  EXPECT_EQ(report->next_expiry, std::nullopt);
  EXPECT_THAT(Names(), ElementsAre("0", "all"));
  EXPECT_THAT(root_.ListDir("/run/cdi"),
              IsOkAndHolds(std::vector<std::string>{"kgpu-kgpu.dev-gpu.json"}))
      << "no temporary file stays";
}

TEST_F(PublisherTest, LeavesAFileThatIsRightAlone) {
  ASSERT_OK(Publish({"0"}));
  const auto again = Publish({"0"});
  ASSERT_OK(again);
  EXPECT_THAT(again->written, IsEmpty());
}

TEST_F(PublisherTest, ReportsWhatTheHostLacks) {
  Spec spec = SpecOf("kgpu.dev/gpu", {"0"});
  spec.edits.mounts = {{"/usr/lib/libcuda.so.1", "/x", {}, ""}};
  const auto report = MakePublisher().Publish({spec});
  ASSERT_OK(report);
  EXPECT_THAT(report->findings,
              ElementsAre(Field(&report::Finding::message, HasSubstr("libcuda.so.1"))));
}

TEST_F(PublisherTest, RefusesAnInvalidSpecAndKeepsTheOldFile) {
  ASSERT_OK(Publish({"0"}));
  EXPECT_THAT(Publish({"a/b"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("device name \"a/b\"")));
  EXPECT_THAT(Names(), ElementsAre("0"));
}

TEST_F(PublisherTest, OfManyThatVanishTheLastAreKept) {
  for (int i = 0; i < 300; ++i) {
    ASSERT_OK(Publish({"0", fmt::format("mig-{}", i)}));
    clock_.Advance(std::chrono::milliseconds(400));
  }
  ASSERT_OK(Publish({"0"}));
  const std::vector<std::string> names = Names();
  ASSERT_EQ(names.size(), 1 + PublisherOptions().most_kept);
  for (size_t i = 1; i < names.size(); ++i) {
    EXPECT_EQ(names[i], fmt::format("mig-{}", 300 - i)) << "the last one first";
  }
}

TEST_F(PublisherTest, WhenAllAreGoneAllAreKept) {
  constexpr int kMany = 200;
  std::vector<std::string> all;
  all.reserve(kMany);
  for (int i = 0; i < kMany; ++i) {
    all.push_back(fmt::format("{}", i));
  }
  ASSERT_OK(Publish(all));
  const auto report = Publish({});
  ASSERT_OK(report);
  EXPECT_EQ(Names().size(), 200U);
  EXPECT_THAT(report->notes, ElementsAre(HasSubstr("and 192 more removed")));
}

TEST_F(PublisherTest, KeepsAVanishedNameForTheGracePeriod) {
  ASSERT_OK(Publish({"0", "1", "all"}));

  auto report = Publish({"0", "all"});
  ASSERT_OK(report);
  EXPECT_THAT(Names(), ElementsAre("0", "all", "1"));
  EXPECT_THAT(report->notes, ElementsAre(AllOf(HasSubstr("1 removed"), HasSubstr("600 s"))));
  EXPECT_EQ(report->next_expiry, clock_.WallNow() + minutes(10));

  clock_.Advance(minutes(9));
  ASSERT_OK(Publish({"0", "all"}));
  EXPECT_THAT(Names(), ElementsAre("0", "all", "1")) << "publishing does not start the time again";

  clock_.Advance(minutes(1));
  report = Publish({"0", "all"});
  ASSERT_OK(report);
  EXPECT_THAT(Names(), ElementsAre("0", "all"));
  EXPECT_EQ(report->next_expiry, std::nullopt);
  EXPECT_FALSE(root_.Exists(kTimes));
}

TEST_F(PublisherTest, ForgetsTheTimeOfANameThatComesBack) {
  ASSERT_OK(Publish({"0", "1"}));
  ASSERT_OK(Publish({"0"}));
  clock_.Advance(minutes(9));
  ASSERT_OK(Publish({"0", "1"}));
  EXPECT_THAT(Names(), ElementsAre("0", "1"));
  clock_.Advance(minutes(9));
  ASSERT_OK(Publish({"0"}));
  EXPECT_THAT(Names(), ElementsAre("0", "1")) << "a new grace period";
}

TEST_F(PublisherTest, KeepsEverythingWhileTheDriverIsExchanged) {
  ASSERT_OK(Publish({"0", "all"}));
  const auto before = root_.ReadFile(kOwn);
  ASSERT_OK(Publish({}));
  EXPECT_EQ(root_.ReadFile(kOwn), before);

  clock_.Advance(minutes(10));
  const auto report = Publish({});
  ASSERT_OK(report);
  EXPECT_THAT(report->removed, ElementsAre(kOwn));
  EXPECT_THAT(root_.ListDir("/run/cdi"), IsOkAndHolds(IsEmpty()));
}

TEST_F(PublisherTest, ClockSetBackMakesNoNameImmortal) {
  ASSERT_OK(Publish({"0", "1"}));
  clock_.Advance(std::chrono::hours(1000));
  ASSERT_OK(Publish({"0"}));
  clock_.Advance(-std::chrono::hours(1000));
  ASSERT_OK(Publish({"0"}));
  clock_.Advance(minutes(11));
  ASSERT_OK(Publish({"0"}));
  EXPECT_THAT(Names(), ElementsAre("0"));
}

TEST_F(PublisherTest, DamagedTimesOnlyStartAgain) {
  ASSERT_OK(Publish({"0", "1"}));
  dir_.WriteFile(kTimes, "garbage 1\n99999999999999999999 1\n\xff");
  ASSERT_OK(Publish({"0"}));
  EXPECT_THAT(Names(), ElementsAre("0", "1"));
}

TEST_F(PublisherTest, ReplacesADamagedFileOfOurs) {
  dir_.WriteFile(kOwn, "{\"cdiVersion\":");
  const auto report = Publish({"0"});
  ASSERT_OK(report);
  EXPECT_THAT(report->notes, ElementsAre(HasSubstr("rewritten")));
  EXPECT_THAT(Names(), ElementsAre("0"));
}

TEST_F(PublisherTest, StandsBackForAForeignFileOfAnotherVendorsKind) {
  const std::vector<Spec> specs = {SpecOf("kgpu.dev/gpu", {"0"}), SpecOf("nvidia.com/gpu", {"0"})};
  ASSERT_OK(MakePublisher().Publish(specs));
  EXPECT_THAT(Names(kNvidia), ElementsAre("0"));

  Spec foreign = SpecOf("nvidia.com/gpu", {"0"});
  foreign.version = "0.5.0";
  dir_.WriteFile("etc/cdi/nvidia.yaml", PrintSpec(foreign, doc::Format::kYaml));
  const auto report = MakePublisher().Publish(specs);

  ASSERT_OK(report);
  EXPECT_THAT(report->removed, ElementsAre(kNvidia));
  EXPECT_THAT(report->notes,
              ElementsAre(AllOf(HasSubstr("/etc/cdi/nvidia.yaml"), HasSubstr("nvidia.com/gpu"))));
  EXPECT_THAT(Names(), ElementsAre("0"));

  ASSERT_EQ(unlink(dir_.At("etc/cdi/nvidia.yaml").c_str()), 0);
  ASSERT_OK(MakePublisher().Publish(specs));
  EXPECT_THAT(Names(kNvidia), ElementsAre("0")) << "back when the other file is gone";
}

TEST_F(PublisherTest, AKindThatThisHostLacksIsNobodysBusiness) {
  Spec foreign = SpecOf("nvidia.com/gds", {"all"});
  foreign.version = "0.5.0";
  dir_.WriteFile("etc/cdi/gds.yaml", PrintSpec(foreign, doc::Format::kYaml));
  const auto report = MakePublisher().Publish({SpecOf("nvidia.com/gds", {})});
  ASSERT_OK(report);
  EXPECT_THAT(report->notes, IsEmpty());
}

TEST_F(PublisherTest, AFleetingKindGoesAtOnce) {
  PublisherOptions options;
  options.folder = "/run/cdi";
  options.fleeting_kinds = {"kgpu.dev/gds"};
  Publisher publisher(root_, root_, clock_, options);
  ASSERT_OK(publisher.Publish({SpecOf("kgpu.dev/gds", {"all"})}));
  const auto report = publisher.Publish({SpecOf("kgpu.dev/gds", {})});
  ASSERT_OK(report);
  EXPECT_THAT(report->removed, ElementsAre("/run/cdi/kgpu-kgpu.dev-gds.json"));
  EXPECT_THAT(root_.ListDir("/run/cdi"), IsOkAndHolds(IsEmpty()));
}

TEST_F(PublisherTest, NoFolderIsMadeForNothing) {
  ASSERT_OK(Publish({}));
  EXPECT_FALSE(root_.Exists("/run"));
}

TEST_F(PublisherTest, SaysWhenSomebodyElseDeclaresOurKind) {
  Spec foreign = SpecOf("kgpu.dev/gpu", {"0"});
  foreign.version = "0.5.0";
  dir_.WriteFile("run/cdi/other.json", PrintSpec(foreign, doc::Format::kJson));
  const auto report = Publish({"0"});
  ASSERT_OK(report);
  EXPECT_THAT(report->notes, ElementsAre(AllOf(HasSubstr("other.json"), HasSubstr("remove"))));
}

TEST_F(PublisherTest, FollowsAbsoluteLinksBelowTheRoot) {
  dir_.MakeDir("run");
  dir_.Symlink("/run", "var/run");
  PublisherOptions options;
  options.folder = "/var/run/cdi";
  Publisher publisher(root_, root_, clock_, options);
  ASSERT_OK(publisher.Publish({SpecOf("kgpu.dev/gpu", {"0"})}));
  EXPECT_THAT(Names(), ElementsAre("0"));
}

TEST_F(PublisherTest, ChangedFormatReplacesTheFileAndKeepsNames) {
  ASSERT_OK(Publish({"0", "1"}));
  PublisherOptions options;
  options.folder = "/run/cdi";
  options.format = doc::Format::kYaml;
  const auto report =
      Publisher(root_, root_, clock_, options).Publish({SpecOf("kgpu.dev/gpu", {"0"})});
  ASSERT_OK(report);
  EXPECT_THAT(report->written, ElementsAre("/run/cdi/kgpu-kgpu.dev-gpu.yaml"));
  EXPECT_THAT(report->removed, ElementsAre(kOwn));
  EXPECT_THAT(report->notes, ElementsAre(HasSubstr("1 removed")));
}

// A file system of its own at `path`; unmounted at the end.
class ScopedTmpfs {
 public:
  ScopedTmpfs(std::string path, unsigned long flags, const char* options)
      : path_(std::move(path)),
        is_mounted_(mount("tmpfs", path_.c_str(), "tmpfs", flags, options) == 0) {}
  ~ScopedTmpfs() {
    if (is_mounted_) {
      umount2(path_.c_str(), MNT_DETACH);
    }
  }
  ScopedTmpfs(const ScopedTmpfs&) = delete;
  ScopedTmpfs& operator=(const ScopedTmpfs&) = delete;
  bool is_mounted() const { return is_mounted_; }
  bool MakeReadOnly() const {
    return mount("tmpfs", path_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }

 private:
  std::string path_;
  bool is_mounted_;
};

TEST_F(PublisherTest, FullFolderKeepsTheOldFile) {
  dir_.MakeDir("run/cdi");
  const ScopedTmpfs tmpfs(dir_.At("run/cdi"), 0, "size=16k,nr_inodes=8");
  if (!tmpfs.is_mounted()) {
    GTEST_SKIP() << "mounting is not permitted here";
  }
  ASSERT_OK(Publish({"0"}));
  const auto before = root_.ReadFile(kOwn);
  dir_.WriteFile("run/cdi/ballast", std::string(8192, 'x'));

  Spec large = SpecOf("kgpu.dev/gpu", {"0"});
  large.edits.env.push_back("X=" + std::string(8192, 'x'));
  EXPECT_THAT(MakePublisher().Publish({large}),
              StatusIs(StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("run/cdi"), HasSubstr("free disk"))));
  EXPECT_EQ(root_.ReadFile(kOwn), before);
  EXPECT_THAT(root_.ListDir("/run/cdi"),
              IsOkAndHolds(std::vector<std::string>{"ballast", "kgpu-kgpu.dev-gpu.json"}));
}

TEST_F(PublisherTest, ReadOnlyFolderKeepsTheOldFile) {
  dir_.MakeDir("run/cdi");
  const ScopedTmpfs tmpfs(dir_.At("run/cdi"), 0, "size=64k");
  if (!tmpfs.is_mounted()) {
    GTEST_SKIP() << "mounting is not permitted here";
  }
  ASSERT_OK(Publish({"0"}));
  ASSERT_TRUE(tmpfs.MakeReadOnly());
  EXPECT_THAT(Publish({"0", "1"}),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("run/cdi"), HasSubstr("remount it writable"))));
  EXPECT_THAT(Names(), ElementsAre("0"));
}

TEST_F(PublisherTest, ReadOnlyFolderThatIsRightIsNoError) {
  dir_.MakeDir("run/cdi");
  const ScopedTmpfs tmpfs(dir_.At("run/cdi"), 0, "size=64k");
  if (!tmpfs.is_mounted()) {
    GTEST_SKIP() << "mounting is not permitted here";
  }
  ASSERT_OK(Publish({"0"}));
  ASSERT_TRUE(tmpfs.MakeReadOnly());
  EXPECT_OK(MakePublisher().Publish({SpecOf("kgpu.dev/gpu", {"0"}), SpecOf("kgpu.dev/gds", {})}));
}

TEST_F(PublisherTest, FileInThePlaceOfTheFolderIsAnError) {
  dir_.WriteFile("run/cdi", "");
  EXPECT_FALSE(Publish({"0"}).ok());
}

}  // namespace
}  // namespace kgpu::cdi
