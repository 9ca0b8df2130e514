#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <utility>

#include "src/cli/base/commands.h"
#include "src/cli/base/confirm.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/mig/mig_deps.h"
#include "src/cli/mig/mig_request.h"
#include "src/cli/mig/mig_view.h"
#include "src/node/mig/change.h"
#include "src/node/mig/record.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::cli {
namespace {

// Adds each change to `lines`.
Status Carry(const MigOptions& options, const host::DriverRoot& root,
             const std::vector<mig::Target>& before, const std::vector<mig::Target>& targets,
             std::vector<std::string>& lines) {
  mig::ApplyDeps deps = MigDepsOf(options, root);
  deps.note = [&](std::string_view line) {
    lines.emplace_back(line);
    PrintNote(line);
  };
  return mig::CarryOut(root.host, before, targets, std::move(deps));
}

StatusOr<ExitCode> PrintDone(OutputFormat format, const std::vector<std::string>& lines,
                             std::string_view text) {
  return OkOr(PrintAs(format, text, boost::json::object{{"steps", doc::Texts(lines)}}));
}

StatusOr<ExitCode> RunMigApply(const MigOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  ASSIGN_OR_RETURN(const auto gpus, ReadMigGpus(options, root));
  ASSIGN_OR_RETURN(const mig::Plan plan, MakeMigPlan(options, gpus));
  const std::vector<std::string> names = MigNamesOf(gpus);
  const ExitCode done = plan.waiting.empty() ? ExitCode::kOk : ExitCode::kWaits;
  if (options.is_dry_run || !plan.is_feasible || plan.changes.empty()) {
    RETURN_IF_ERROR(
        PrintAs(format, MigPlanText(plan, names), MigPlanJson(plan, names, MigUuidsOf(gpus))));
    return plan.is_feasible ? done : ExitCode::kUnhealthy;
  }
  if (!options.is_yes) {
    PrintNote(MigPlanText(plan, names));
    RETURN_IF_ERROR(Confirm("Change the MIG layout?"));
  }
  const std::vector<mig::Target> targets = mig::TargetsOf(plan, gpus);
  ASSIGN_OR_RETURN(const auto before, mig::PresentOf(targets, gpus));
  std::vector<std::string> lines;
  RETURN_IF_ERROR(Carry(options, root, before, targets, lines));
  for (const std::string& reason : plan.waiting) {
    lines.push_back("waits: " + reason);
    PrintNote(lines.back());
  }
  RETURN_IF_ERROR(
      PrintDone(format, lines, "done; kgpu mig rollback restores the former layout\n").status());
  return done;
}

StatusOr<ExitCode> RunMigRollback(const MigOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  ASSIGN_OR_RETURN(const auto record, mig::kRecordFile.Read(root.host, &mig::ParseRecord));
  if (!record) {
    return NotFound(
        "kgpu has not changed the MIG layout of this host: there is nothing to restore");
  }
  ASSIGN_OR_RETURN(const auto gpus, ReadMigGpus(options, root));
  if (!options.may_evict) {
    RETURN_IF_ERROR(mig::CheckUsersKeep(*record, gpus));
  }
  ASSIGN_OR_RETURN(const auto present, mig::PresentOf(*record, gpus));
  const std::string text = MigTargetsText(*record);
  if (options.is_dry_run) {
    return OkOr(PrintAs(format, text, MigTargetsJson(*record)));
  }
  if (!options.is_yes) {
    PrintNote(text);
    RETURN_IF_ERROR(Confirm("Restore this MIG layout?"));
  }
  std::vector<std::string> lines;
  RETURN_IF_ERROR(Carry(options, root, present, *record, lines));
  return PrintDone(format, lines, "done; the former layout is back\n");
}

void AddMigRunFlags(CLI::App& command, MigOptions& options) {
  command.add_flag("--dry-run", options.is_dry_run, "Print the changes, make none");
  command.add_flag("-y,--yes", options.is_yes, "Do not ask");
}

}  // namespace

void AddMigApplyCommands(CommandRegistrar& registrar, CLI::App& group) {
  auto [apply, options] = registrar.Add<MigOptions>(
      group, "apply", "Change the MIG layout, and undo the change if it fails",
      [](const MigOptions& given) { return ForRoot(RunMigApply(given)); });
  apply.footer(
      "Changes one GPU after the other. Exits 7 when the plan is infeasible, 6 when the host must\n"
      "be changed first. Turning MIG on or off on Ampere needs a GPU that no program has open: "
      "the\n"
      "driver or nvidia-smi resets it. The layout before is recorded in /var/lib/kgpu/mig.json.\n"
      "\n"
      "  kgpu mig apply --gpu 0 --layout 3g.40gb,3g.40gb --yes\n"
      "  kgpu mig apply --profiles 2x1g.10gb --dry-run\n"
      "  kgpu mig apply --select all-disabled --yes            turn MIG off\n"
      "  kgpu mig apply --config /etc/mig.yaml --select balanced --yes");
  AddOutputOption(apply, options.output);
  AddMigGoalFlags(apply, options);
  apply.add_flag(
      "--idle-only", options.waits,
      "With --layout or --select: change the GPUs that can be changed now, and exit 8 if "
      "others are in use");
  AddMigRunFlags(apply, options);
  AddMigHostFlags(apply, options);

  auto [rollback, rollback_options] = registrar.Add<MigOptions>(
      group, "rollback", "Restore the MIG layout from before the last change",
      [](const MigOptions& given) { return ForRoot(RunMigRollback(given)); });
  rollback.footer(
      "Also after kgpu was killed in the middle of a change. A second rollback takes the first "
      "one\nback. Exits 3 when there was no change.\n"
      "\n"
      "  kgpu mig rollback --dry-run\n"
      "  kgpu mig rollback --yes");
  AddOutputOption(rollback, rollback_options.output);
  rollback.add_flag("--evict", rollback_options.may_evict,
                    "Also change instances in use, after ending their processes");
  AddMigRunFlags(rollback, rollback_options);
  AddMigHostFlags(rollback, rollback_options);
}

}  // namespace kgpu::cli
