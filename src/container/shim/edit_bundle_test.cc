#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "src/container/shim/audit.h"
#include "src/container/shim/run.h"
#include "src/container/shim/test_bundle.h"
#include "testing/status_matchers.h"

namespace kgpu::shim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Asking(const std::string& devices) {
  return TestBundle::Spec({"NVIDIA_VISIBLE_DEVICES=" + devices});
}

class EditBundleTest : public ::testing::Test {
 protected:
  // What a request by the environment gives, where that is trusted.
  std::string Given(const std::string& devices) {
    bundle_.config.accept_env = true;
    EXPECT_OK(bundle_.Edit(Asking(devices)));
    return bundle_.spec();
  }
  TestBundle bundle_;
};

TEST_F(EditBundleTest, AContainerThatAsksForNothingIsLeftAloneByteForByte) {
  for (const std::string& spec :
       {TestBundle::Spec({}), TestBundle::Spec({"NVIDIA_VISIBLE_DEVICES="}),
        TestBundle::Spec({"NVIDIA_VISIBLE_DEVICES=void"}),
        TestBundle::Spec({"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_VISIBLE_DEVICES=void"}),
        TestBundle::Spec({"NVIDIA_DRIVER_CAPABILITIES=nonsense"}),
        std::string("{ not JSON at all")}) {
    EXPECT_OK(bundle_.Edit(spec));
    EXPECT_EQ(bundle_.spec(), spec);
    EXPECT_THAT(bundle_.audit(), IsEmpty());
  }
}

TEST_F(EditBundleTest, TheEnvironmentAloneIsNotTrusted) {
  const std::string spec = Asking("all");
  EXPECT_OK(bundle_.Edit(spec));
  EXPECT_EQ(bundle_.spec(), spec);
  EXPECT_THAT(bundle_.audit(),
              AllOf(HasSubstr("event=gpu-refused container=box"), HasSubstr("source=environment"),
                    HasSubstr("asked=all"), HasSubstr("--gpus"), HasSubstr("acceptEnv")));
}

TEST_F(EditBundleTest, RefusalsDoNotPushAGrantOutOfTheAudit) {
  ASSERT_OK(bundle_.Edit(TestBundle::Spec({"NVIDIA_VISIBLE_DEVICES=0"}, "", TestBundle::Hook())));
  const std::string granted = bundle_.grants();
  ASSERT_THAT(granted, HasSubstr("event=gpu-granted"));
  std::string noise;
  for (int i = 0; i < 5'000; ++i) {
    noise += "\\u0001";
  }
  bundle_.WriteSpec(Asking(noise));
  // More than two full files of refusals.
  for (size_t i = 0; i < 2 * kAuditLimit / 4'096 + 100; ++i) {
    ASSERT_OK(bundle_.Edit());
  }
  EXPECT_EQ(bundle_.grants(), granted);
  EXPECT_THAT(bundle_.refusals(), HasSubstr("event=gpu-refused"));
}

TEST_F(EditBundleTest, TheAdminMayTrustTheEnvironment) {
  EXPECT_THAT(Given("1"),
              AllOf(HasSubstr(R"("path":"/dev/nvidia1")"), HasSubstr(R"("path":"/dev/nvidiactl")"),
                    Not(HasSubstr(R"(/dev/nvidia0)")), HasSubstr("libcuda.so.1"),
                    HasSubstr("NVIDIA_VISIBLE_DEVICES=void"), Not(HasSubstr("libnvcuvid"))));
  EXPECT_THAT(bundle_.audit(),
              AllOf(HasSubstr("event=gpu-granted container=box"), HasSubstr("asked=1"),
                    HasSubstr("devices=GPU-bbbbbbbb-0000-0000-0000-000000000000")));
}

TEST_F(EditBundleTest, DockersGpuFlagIsTrustedAndItsHookEntryGoes) {
  EXPECT_OK(bundle_.Edit(TestBundle::Spec(
      {"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_VISIBLE_DEVICES=0"}, "", TestBundle::Hook())));
  EXPECT_THAT(bundle_.spec(),
              AllOf(HasSubstr("/dev/nvidia0"), Not(HasSubstr("/dev/nvidia1")),
                    Not(HasSubstr("nvidia-container-runtime-hook")), HasSubstr("/usr/bin/other")));
  EXPECT_THAT(bundle_.audit(), HasSubstr("source=docker-gpus"));
}

TEST_F(EditBundleTest, AHookEntryWithoutARequestGoesAlone) {
  EXPECT_OK(bundle_.Edit(TestBundle::Spec({}, "", TestBundle::Hook())));
  EXPECT_EQ(bundle_.spec(),
            TestBundle::Spec({}, "", R"(,"hooks":{"prestart":[{"path":"/usr/bin/other"}]})"));
  EXPECT_THAT(bundle_.audit(), IsEmpty());
}

TEST_F(EditBundleTest, MountsOfDevNullAskAndAreTakenOut) {
  EXPECT_OK(bundle_.Edit(
      TestBundle::Spec({"NVIDIA_VISIBLE_DEVICES=all"},
                       TestBundle::RequestMount("0") + "," +
                           TestBundle::RequestMount("MIG-cccccccc-1111-0000-0000-000000000000"))));
  EXPECT_THAT(bundle_.spec(),
              AllOf(HasSubstr("/dev/nvidia0"), HasSubstr("nvidia-cap21"), HasSubstr("/dev/nvidia2"),
                    Not(HasSubstr("/dev/nvidia1")), Not(HasSubstr("nvidia-cap12")),
                    Not(HasSubstr("nvidia-container-devices")), HasSubstr(R"("/proc")")));
  EXPECT_THAT(bundle_.audit(), AllOf(HasSubstr("source=mounts"), Not(HasSubstr("refused"))));
}

TEST_F(EditBundleTest, MountsMayNameDevicesByCdi) {
  EXPECT_OK(
      bundle_.Edit(TestBundle::Spec({}, TestBundle::RequestMount("cdi/kgpu.dev/gpu/1") + "," +
                                            TestBundle::RequestMount("cdi/nvidia.com/gpu=0"))));
  EXPECT_THAT(bundle_.spec(), AllOf(HasSubstr("/dev/nvidia0"), HasSubstr("/dev/nvidia1")));
}

TEST_F(EditBundleTest, MountsThatAreNotTrustedStayMounts) {
  bundle_.config.accept_mounts = false;
  const std::string spec = TestBundle::Spec({}, TestBundle::RequestMount("0"));
  EXPECT_OK(bundle_.Edit(spec));
  EXPECT_EQ(bundle_.spec(), spec);
  EXPECT_THAT(bundle_.audit(), AllOf(HasSubstr("gpu-refused"), HasSubstr("acceptMounts")));
}

TEST_F(EditBundleTest, AMountThatIsNoRequestIsRefusedWithItsReason) {
  struct Case {
    std::string mount;
    std::string error;
  };
  const std::vector<Case> cases = {
      {TestBundle::RequestMount("0", "/etc/passwd"), "with a mount of /dev/null, not /etc/passwd"},
      {TestBundle::RequestMount("../../../etc"), "must be normalized"},
      {TestBundle::RequestMount("a/../0"), "must be normalized"},
      {TestBundle::RequestMount("0//1"), "must be normalized"},
      {TestBundle::RequestMount("cdi/0"), "be a CDI name"},
      {TestBundle::RequestMount("imex/x"), "IMEX channel"},
      {TestBundle::RequestMount("0,1"), "must name one device"},
  };
  for (const Case& one : cases) {
    const std::string spec = TestBundle::Spec({}, one.mount);
    EXPECT_THAT(bundle_.Edit(spec), StatusIs(StatusCode::kInvalidArgument, HasSubstr(one.error)))
        << one.mount;
    EXPECT_EQ(bundle_.spec(), spec);
  }
}

TEST_F(EditBundleTest, AnnotationsCountOnlyWhereTheyAreTrustedAndThenFirst) {
  const std::string spec =
      TestBundle::Spec({}, TestBundle::RequestMount("0"),
                       R"(,"annotations":{"cdi.k8s.io/x":"kgpu.dev/gpu=1","other":"y"})");
  EXPECT_OK(bundle_.Edit(spec));
  EXPECT_THAT(bundle_.spec(), AllOf(HasSubstr("/dev/nvidia0"), Not(HasSubstr("/dev/nvidia1"))));
  EXPECT_THAT(bundle_.audit(), AllOf(HasSubstr("gpu-refused"), HasSubstr("acceptAnnotations"),
                                     HasSubstr("gpu-granted"), HasSubstr("source=mounts")));
  bundle_.config.accept_annotations = true;
  EXPECT_OK(bundle_.Edit(spec));
  EXPECT_THAT(bundle_.spec(), AllOf(HasSubstr("/dev/nvidia1"), Not(HasSubstr("/dev/nvidia0"))));
}

TEST_F(EditBundleTest, EverySortOfNameFindsItsDevice) {
  for (const char* name : {"0", "GPU-aaaaaaaa-0000-0000-0000-000000000000", "gpu-AAAAAAAA",
                           "kgpu.dev/gpu=0", "nvidia.com/gpu=0", "runtime.nvidia.com/gpu=0"}) {
    EXPECT_THAT(Given(name), AllOf(HasSubstr("/dev/nvidia0"), Not(HasSubstr("/dev/nvidia1"))))
        << name;
  }
  for (const char* name : {"2:0", "MIG-cccccccc-0000-0000-0000-000000000000"}) {
    EXPECT_THAT(Given(name), AllOf(HasSubstr("nvidia-cap12"), Not(HasSubstr("nvidia-cap21"))))
        << name;
  }
  EXPECT_THAT(Given("all"), AllOf(HasSubstr("/dev/nvidia0"), HasSubstr("/dev/nvidia1"),
                                  HasSubstr("nvidia-cap12"), HasSubstr("nvidia-cap21")));
}

TEST_F(EditBundleTest, NoneGivesTheDriverWithoutAGpu) {
  EXPECT_THAT(Given("none"), AllOf(HasSubstr("libcuda.so.1"), HasSubstr("/dev/nvidiactl"),
                                   Not(HasSubstr("/dev/nvidia0"))));
}

TEST_F(EditBundleTest, ADeviceThatDoesNotExistIsRefusedNamingThoseThatDo) {
  bundle_.config.accept_env = true;
  EXPECT_THAT(
      bundle_.Edit(Asking("7")),
      StatusIs(StatusCode::kNotFound, AllOf(HasSubstr("\"7\""), HasSubstr("0 = GPU-aaaaaaaa"),
                                            HasSubstr("2:1 = MIG-cccccccc-1111"))));
  EXPECT_THAT(bundle_.audit(), AllOf(HasSubstr("gpu-refused"), HasSubstr("asked=7")));
  EXPECT_THAT(bundle_.Edit(Asking("2")),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("MIG mode"), HasSubstr("2:0, 2:1"))));
  EXPECT_THAT(bundle_.Edit(Asking("MIG-cccccccc")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("matches several")));
  EXPECT_THAT(bundle_.Edit(Asking("kgpu.dev/gds=all")),
              StatusIs(StatusCode::kNotFound, HasSubstr("kgpu.dev/gds=all")));
}

TEST_F(EditBundleTest, CapabilitiesChooseAmongTheMounts) {
  bundle_.config.accept_env = true;
  EXPECT_OK(bundle_.Edit(
      TestBundle::Spec({"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_DRIVER_CAPABILITIES=video,utility"})));
  EXPECT_THAT(bundle_.spec(),
              AllOf(HasSubstr("libnvcuvid"), HasSubstr("nvidia-smi"), Not(HasSubstr("libcuda"))));
  EXPECT_THAT(bundle_.Edit(TestBundle::Spec(
                  {"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_DRIVER_CAPABILITIES=cuda"})),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("NVIDIA_DRIVER_CAPABILITIES"), HasSubstr("compute"))));
}

TEST_F(EditBundleTest, WithoutAnIndexOnlyContainersThatNeedItAreRefused) {
  std::filesystem::remove(bundle_.dir().At("host/run/kgpu/injection.json"));
  bundle_.config.accept_env = true;
  EXPECT_THAT(bundle_.Edit(Asking("all")),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("kgpu agent"), HasSubstr("kgpu cdi generate"))));
  EXPECT_OK(bundle_.Edit(Asking("void")));
  EXPECT_OK(bundle_.Edit(TestBundle::Spec({})));
}

TEST_F(EditBundleTest, DevicesOfOtherKindsComeFromCdiFolders) {
  bundle_.dir().WriteFile(
      "host/etc/cdi/nic.yaml",
      "cdiVersion: 0.5.0\nkind: example.com/nic\ncontainerEdits:\n  env: [A=1]\n"
      "devices:\n- name: n0\n  containerEdits:\n    deviceNodes:\n"
      "    - {path: /dev/nic0, type: c, major: 9, minor: 1}\n");
  const std::string spec = Given("0,example.com/nic=n0");
  EXPECT_THAT(spec, AllOf(HasSubstr("/dev/nvidia0"), HasSubstr("/dev/nic0"), HasSubstr("A=1")));
  EXPECT_THAT(Given("example.com/nic=n0"),
              AllOf(HasSubstr("/dev/nic0"), Not(HasSubstr("nvidiactl")),
                    HasSubstr("NVIDIA_VISIBLE_DEVICES=void")));
  EXPECT_THAT(bundle_.Edit(Asking("example.com/nic=n1")),
              StatusIs(StatusCode::kNotFound, HasSubstr("example.com/nic=n0")));
}

TEST_F(EditBundleTest, ClassesAndChannelsComeFromOurKindsFirst) {
  const auto declare = [&](const std::string& kind, const std::string& device, int minor) {
    bundle_.dir().WriteFile(
        fmt::format("host/var/run/cdi/{}-{}.json", kind.substr(0, 4),
                    kind.substr(kind.find('/') + 1)),
        fmt::format(R"({{"cdiVersion":"0.5.0","kind":"{}","devices":[{{"name":"{}",)"
                    R"("containerEdits":{{"deviceNodes":[{{"path":"/dev/{}{}","type":"c",)"
                    R"("major":9,"minor":{}}}]}}}}]}})",
                    kind, device, kind.substr(kind.find('/') + 1), device, minor));
  };
  declare("kgpu.dev/gds", "all", 1);
  declare("nvidia.com/gds", "all", 2);
  declare("nvidia.com/imex-channel", "3", 3);
  bundle_.config.accept_env = true;
  EXPECT_OK(bundle_.Edit(TestBundle::Spec({"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_GDS=enabled",
                                           "NVIDIA_MOFED=enabled", "NVIDIA_IMEX_CHANNELS=3"})));
  EXPECT_THAT(bundle_.spec(), AllOf(HasSubstr("/dev/gdsall"), HasSubstr("/dev/imex-channel3")));
  EXPECT_THAT(bundle_.audit(),
              AllOf(HasSubstr("kgpu.dev/gds=all"), HasSubstr("kgpu.dev/mofed=all")));
  EXPECT_THAT(
      bundle_.Edit(TestBundle::Spec({"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_IMEX_CHANNELS=4"})),
      StatusIs(StatusCode::kNotFound, HasSubstr("imex-channel=4")));
  EXPECT_OK(bundle_.Edit(TestBundle::Spec({}, TestBundle::RequestMount("imex/3"))));
  EXPECT_THAT(bundle_.spec(), HasSubstr("/dev/imex-channel3"));
}

TEST_F(EditBundleTest, DockersGpuFlagDoesNotVouchForWhatElseTheEnvironmentSays) {
  bundle_.dir().WriteFile(
      "host/etc/cdi/gds.json",
      R"({"cdiVersion":"0.5.0","kind":"kgpu.dev/gds","devices":[{"name":"all","containerEdits":)"
      R"({"deviceNodes":[{"path":"/dev/nvidia-fs0","type":"c","major":9,"minor":1}]}}]})");
  const std::vector<std::string> image = {"NVIDIA_GDS=enabled", "NVIDIA_IMEX_CHANNELS=no number",
                                          "NVIDIA_MOFED=disabled"};
  std::vector<std::string> env = image;
  env.emplace_back("NVIDIA_VISIBLE_DEVICES=0");
  EXPECT_OK(bundle_.Edit(TestBundle::Spec(env, "", TestBundle::Hook())));
  EXPECT_THAT(bundle_.spec(), AllOf(HasSubstr("/dev/nvidia0"), Not(HasSubstr("/dev/nvidia-fs0"))));
  EXPECT_THAT(bundle_.audit(), AllOf(HasSubstr("NVIDIA_IMEX_CHANNELS, NVIDIA_GDS ignored"),
                                     HasSubstr("acceptEnv"), Not(HasSubstr("NVIDIA_MOFED"))));
  env = image;
  env.emplace_back("NVIDIA_VISIBLE_DEVICES=0,kgpu.dev/gds=all");
  EXPECT_OK(bundle_.Edit(TestBundle::Spec(env, "", TestBundle::Hook())));
  EXPECT_THAT(bundle_.spec(), HasSubstr("/dev/nvidia-fs0"));
}

TEST_F(EditBundleTest, ChannelsOfManyMountsAreCountedTogether) {
  std::string channels = "imex/0";
  for (int i = 1; i < 1'000; ++i) {
    channels += ",0";
  }
  EXPECT_THAT(bundle_.Edit(TestBundle::Spec({}, TestBundle::RequestMount(channels) + "," +
                                                    TestBundle::RequestMount(channels))),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("IMEX channels requested")));
}

TEST_F(EditBundleTest, AbsurdRequestsAreRefusedAndTheSpecStays) {
  bundle_.config.accept_env = true;
  std::string many = "0";
  for (int i = 1; i < 10'000; ++i) {
    many += ",0";
  }
  const std::string spec = Asking(many);
  EXPECT_THAT(bundle_.Edit(spec),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("10000 devices requested")));
  EXPECT_EQ(bundle_.spec(), spec);
  std::string mounts = TestBundle::RequestMount("0");
  for (int i = 1; i < 10'000; ++i) {
    mounts += ',';
    mounts += TestBundle::RequestMount(std::to_string(i));
  }
  EXPECT_THAT(bundle_.Edit(TestBundle::Spec({}, mounts)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("10000 devices requested")));
}

TEST_F(EditBundleTest, ASpecOf64MebibytesIsRefusedUnread) {
  bundle_.WriteSpec("{}");
  std::filesystem::resize_file(bundle_.dir().At("bundle/config.json"), uintmax_t{64} << 20);
  EXPECT_THAT(bundle_.Edit(), StatusIs(StatusCode::kOutOfRange,
                                       AllOf(HasSubstr("67108864 bytes"), HasSubstr("4194304"))));
}

TEST_F(EditBundleTest, OnlyAFileIsReadAsASpec) {
  bundle_.dir().WriteFile("elsewhere.json", Asking("all"));
  bundle_.dir().MakeDir("bundle");
  bundle_.dir().Symlink(bundle_.dir().At("elsewhere.json"), "bundle/config.json");
  EXPECT_THAT(bundle_.Edit(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("not a link")));
  std::filesystem::remove(bundle_.dir().At("bundle/config.json"));
  EXPECT_OK(bundle_.Edit());  // the runtime says that it is missing
  bundle_.dir().MakeDir("bundle/config.json");
  EXPECT_THAT(bundle_.Edit(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("not a file")));
}

// As crun does it, which looks for the file before it enters the bundle.
TEST_F(EditBundleTest, ASpecOfAnotherNameIsRelativeToTheWorkingFolder) {
  bundle_.WriteSpec(TestBundle::Spec({}));
  bundle_.dir().WriteFile("other.json", Asking("0"));
  bundle_.config.accept_env = true;
  bundle_.spec_file = std::filesystem::relative(bundle_.dir().At("other.json")).string();
  ASSERT_OK(bundle_.Edit());
  EXPECT_THAT(bundle_.dir().ReadFile("other.json"), HasSubstr("/dev/nvidia0"));
  EXPECT_EQ(bundle_.spec(), TestBundle::Spec({}));
}

TEST_F(EditBundleTest, NothingIsLeftBesideTheSpecAndItsModeStays) {
  bundle_.WriteSpec(Asking("0"));
  std::filesystem::permissions(bundle_.dir().At("bundle/config.json"),
                               std::filesystem::perms::owner_read);
  bundle_.config.accept_env = true;
  ASSERT_OK(bundle_.Edit());
  EXPECT_EQ(std::filesystem::status(bundle_.dir().At("bundle/config.json")).permissions(),
            std::filesystem::perms::owner_read);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(bundle_.dir().At("bundle")),
                          std::filesystem::directory_iterator()),
            1);
}

TEST_F(EditBundleTest, AMalformedSpecThatAsksIsRefusedWithItsField) {
  bundle_.config.accept_env = true;
  EXPECT_THAT(bundle_.Edit(R"({"process":{"env":"NVIDIA_VISIBLE_DEVICES=0"}})"),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("config.json"), HasSubstr("process.env: must be a list"))));
}

TEST_F(EditBundleTest, TheReasonOfARefusalComesBeforeTheTroubleOfTheAudit) {
  bundle_.config.accept_env = true;
  bundle_.dir().WriteFile("host/var", "a file where a folder should be");
  ::testing::internal::CaptureStderr();
  const Status edited = bundle_.Edit(R"({"process":{"env":["NVIDIA_VISIBLE_DEVICES=17"]}})");
  EXPECT_THAT(std::string(Message(edited)), ::testing::ContainsRegex("17.*no audit"));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(EditBundleTest, AnAuditThatCannotBeWrittenStopsNoContainer) {
  bundle_.dir().WriteFile("host/var", "a file where a folder should be");
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(Given("0"), HasSubstr("/dev/nvidia0"));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("no audit"));
}

}  // namespace
}  // namespace kgpu::shim
