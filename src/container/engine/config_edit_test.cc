// What the walk over testdata/edits does not show: texts that were edited by others between our
// edit and its undoing, and requests that no engine takes.
#include "src/container/engine/config_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <utility>

#include "testing/status_matchers.h"

namespace kgpu::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Settings For(NamedRuntime runtime, bool is_default = false) {
  Settings settings;
  settings.runtime = std::move(runtime);
  settings.set_default = is_default;
  return settings;
}

// The default runtime, and CDI.
Settings Usual() {
  Settings settings = For(NamedRuntime(), true);
  settings.cdi = true;
  return settings;
}

std::string Replaced(std::string text, std::string_view old, std::string_view now) {
  const size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old << " is not in\n" << text;
  return at == std::string::npos ? text : text.replace(at, old.size(), now);
}

TEST(RevertTest, KeepsWhatOthersEditedInDockersFile) {
  const auto edit = EditDocker({"d.json", "{\n  \"debug\": true\n}\n"}, Usual());
  ASSERT_THAT(edit, IsOk());
  std::string text = Replaced(edit->text, "\"debug\": true", "\"debug\": false,\n  \"mtu\": 1400");
  text = Replaced(text, "\"cdi\": true", "\"cdi\": true,\n    \"buildkit\": true");
  const auto reverted = Revert(TextKind::kJson, {"d.json", text}, edit->changes);
  ASSERT_THAT(reverted, IsOk());
  EXPECT_EQ(
      reverted->text,
      "{\n  \"debug\": false,\n  \"mtu\": 1400,\n  \"features\": {\n    \"buildkit\": true\n  "
      "}\n}\n");
  EXPECT_THAT(reverted->notes, ElementsAre(HasSubstr("features is not empty")));
}

TEST(RevertTest, LeavesADefaultThatWasChangedSince) {
  const auto edit = EditDocker({"d.json", "{\"default-runtime\": \"runc\"}"}, Usual());
  ASSERT_THAT(edit, IsOk());
  const std::string text = Replaced(edit->text, ": \"nvidia\"", ": \"crun\"");
  const auto reverted = Revert(TextKind::kJson, {"d.json", text}, edit->changes);
  ASSERT_THAT(reverted, IsOk());
  EXPECT_EQ(reverted->text, "{\"default-runtime\": \"crun\"}");
  EXPECT_THAT(reverted->notes,
              ElementsAre(HasSubstr("default-runtime has since been changed to \"crun\"")));
}

TEST(RevertTest, KeepsWhatOthersAddedToOurTables) {
  const std::string before = "version = 2\n\n[grpc]\n  uid = 0\n";
  ContainerdInput input;
  input.version = {1, 7};
  input.main = {"c.toml", before};
  const auto edits = EditContainerd(input, Usual());
  ASSERT_THAT(edits, IsOk());
  const TextEdit& edit = edits->front().edit;
  std::string text = Replaced(edit.text, "BinaryName", "NoNewKeyring = true\n  BinaryName");
  text = Replaced(text, "[grpc]", "# sockets\n[grpc]");
  const auto reverted = Revert(TextKind::kToml, {"c.toml", text}, edit.changes);
  ASSERT_THAT(reverted, IsOk());
  EXPECT_EQ(reverted->text,
            "version = 2\n\n# sockets\n[grpc]\n  uid = 0\n\n"
            "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia.options]\n"
            "  NoNewKeyring = true\n");
  EXPECT_THAT(reverted->notes, ElementsAre(HasSubstr("nvidia.options is not empty")));
}

TEST(RevertTest, LeavesNothingOfADropIn) {
  const auto edit = EditCrio(CrioInput(), Usual());
  ASSERT_THAT(edit, IsOk());
  const auto reverted = Revert(TextKind::kToml, {"x.conf", edit->text}, edit->changes);
  ASSERT_THAT(reverted, IsOk());
  EXPECT_EQ(reverted->text, "");
}

TEST(RevertTest, TakesBackWhatSeveralEditsDid) {
  const std::string before = "{\"log-level\":\"info\"}";
  const auto first = EditDocker({"d.json", before}, For(NamedRuntime()));
  ASSERT_THAT(first, IsOk());
  const auto second = EditDocker({"d.json", first->text}, For({"nvidia", "/opt/r"}, true));
  ASSERT_THAT(second, IsOk());
  std::vector<KeyChange> all = first->changes;
  all.insert(all.end(), second->changes.begin(), second->changes.end());
  const auto reverted = Revert(TextKind::kJson, {"d.json", second->text}, all);
  ASSERT_THAT(reverted, IsOk());
  EXPECT_EQ(reverted->text, before);
  EXPECT_THAT(reverted->notes, IsEmpty());
}

TEST(RevertTest, RefusesATextThatIsBrokenNow) {
  EXPECT_THAT(Revert(TextKind::kJson, {"d.json", "{"}, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("d.json:1:")));
}

TEST(OtherRequestTest, MustNameARuntimeThatEnginesTake) {
  for (const auto& [name, path, text] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"", "/x", "runtime name"},
           {"a b", "/x", "runtime name \"a b\""},
           {"nvidia", "kgpu-runtime", "must begin with /"},
           {"nvidia", "/x\n[a]", "must begin with /"},
           {"runc", "/x", "reserves the runtime name runc"}}) {
    EXPECT_THAT(EditDocker({"d.json", ""}, For({name, path})),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(text)));
  }
  Settings no_runtime;
  no_runtime.set_default = true;
  EXPECT_THAT(EditPodman({"x.conf", ""}, no_runtime),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("requires a runtime")));
}

TEST(EditContainerdTest, AVersionInQuotesIsRefusedWithItsPlace) {
  for (const ContainerdVersion version : {ContainerdVersion{1, 7}, ContainerdVersion{2, 1}}) {
    ContainerdInput input;
    input.version = version;
    input.main = {"/etc/containerd/config.toml", "# mine\nversion = \"2\"\n"};

    EXPECT_THAT(
        EditContainerd(input, Usual()),
        StatusIs(StatusCode::kInvalidArgument,
                 HasSubstr("/etc/containerd/config.toml:2:1: version must be an unquoted number")));
  }
}

TEST(OtherRequestTest, OfNothingChangesNothing) {
  ContainerdInput input;
  input.version = {2, 1};
  const auto edits = EditContainerd(input, Settings());
  ASSERT_THAT(edits, IsOk());
  for (const FileEdit& file : *edits) {
    EXPECT_THAT(file.edit.changes, IsEmpty());
  }
}

}  // namespace
}  // namespace kgpu::engine
