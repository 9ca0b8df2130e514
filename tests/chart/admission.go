// Decides requests by a ValidatingAdmissionPolicy as an API server does, by the same implementation of CEL. Reads
// {"policy": OBJECT, "requests": [{"request": …, "object": …, "oldObject": …}]} from standard input and prints a list:
// "not matched", "allowed", or the message of the first validation that fails.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
)

type expression struct {
	Name       string
	Expression string
	Message    string
}

type policy struct {
	Spec struct {
		MatchConditions []expression
		Variables       []expression
		Validations     []expression
	}
}

type program struct {
	expression
	run cel.Program
}

func compile(env *cel.Env, expressions []expression) ([]program, error) {
	var programs []program
	for _, one := range expressions {
		ast, issues := env.Compile(one.Expression)
		if issues.Err() != nil {
			return nil, fmt.Errorf("%s: %w", one.Expression, issues.Err())
		}
		run, err := env.Program(ast)
		if err != nil {
			return nil, err
		}
		programs = append(programs, program{one, run})
	}
	return programs, nil
}

func decide(p policy, env *cel.Env, input map[string]any) (string, error) {
	conditions, err := compile(env, p.Spec.MatchConditions)
	if err != nil {
		return "", err
	}
	variables, err := compile(env, p.Spec.Variables)
	if err != nil {
		return "", err
	}
	validations, err := compile(env, p.Spec.Validations)
	if err != nil {
		return "", err
	}
	for _, condition := range conditions {
		value, _, err := condition.run.Eval(input)
		if err != nil {
			return "", err
		}
		if value != types.True {
			return "not matched", nil
		}
	}
	known := map[string]any{}
	input["variables"] = known
	for _, variable := range variables {
		value, _, err := variable.run.Eval(input)
		if err != nil {
			return "", fmt.Errorf("variable %s: %w", variable.Name, err)
		}
		known[variable.Name] = value
	}
	for _, validation := range validations {
		value, _, err := validation.run.Eval(input)
		// As with failurePolicy: Fail.
		if err != nil {
			return "error: " + err.Error(), nil
		}
		if value != types.True {
			return validation.Message, nil
		}
	}
	return "allowed", nil
}

func run() error {
	var input struct {
		Policy   policy
		Requests []map[string]any
	}
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		return err
	}
	env, err := cel.NewEnv(
		cel.OptionalTypes(), ext.Strings(),
		cel.Variable("request", cel.DynType), cel.Variable("object", cel.DynType),
		cel.Variable("oldObject", cel.DynType), cel.Variable("variables", cel.DynType))
	if err != nil {
		return err
	}
	var decisions []string
	for _, request := range input.Requests {
		decision, err := decide(input.Policy, env, request)
		if err != nil {
			return err
		}
		decisions = append(decisions, decision)
	}
	return json.NewEncoder(os.Stdout).Encode(decisions)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
