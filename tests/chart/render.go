// Renders the chart's templates by Go's own text/template, with the functions that helm adds. Reads
// {"chart": FOLDER, "fields": {…}} from standard input and prints the rendered texts by file name.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

type files struct{ folder string }

// Get is .Files.Get.
func (f files) Get(path string) (string, error) {
	text, err := os.ReadFile(filepath.Join(f.folder, path))
	return string(text), err
}

func toJSON(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

// toYAML prints the outermost list or map in block style, which may continue one; what is in it is JSON.
func toYAML(value any) (string, error) {
	var lines []string
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			text, err := toJSON(item)
			if err != nil {
				return "", err
			}
			lines = append(lines, "- "+text)
		}
	case map[string]any:
		for key, item := range value {
			text, err := toJSON(item)
			if err != nil {
				return "", err
			}
			lines = append(lines, fmt.Sprintf("%q: %s", key, text))
		}
	default:
		return toJSON(value)
	}
	return strings.Join(lines, "\n"), nil
}

func nindent(width int, text string) string {
	pad := strings.Repeat(" ", width)
	return "\n" + pad + strings.ReplaceAll(text, "\n", "\n"+pad)
}

// get is sprig's.
func get(fields map[string]any, key string) any {
	if value, exists := fields[key]; exists {
		return value
	}
	return ""
}

func render() error {
	var input struct {
		Chart  string
		Fields map[string]any
	}
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		return err
	}
	input.Fields["Files"] = files{input.Chart}
	functions := template.FuncMap{
		"toYaml":  toYAML,
		"toJson":  toJSON,
		"quote":   func(text string) string { return fmt.Sprintf("%q", text) },
		"nindent": nindent,
		"get":     get,
		"fail":    func(text string) (string, error) { return "", errors.New(text) },
	}
	paths, err := filepath.Glob(filepath.Join(input.Chart, "templates", "*.yaml"))
	if err != nil {
		return err
	}
	output := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		parsed, err := template.New(filepath.Base(path)).Funcs(functions).Parse(string(text))
		if err != nil {
			return err
		}
		var rendered strings.Builder
		if err := parsed.Execute(&rendered, input.Fields); err != nil {
			return err
		}
		output["templates/"+filepath.Base(path)] = rendered.String()
	}
	return json.NewEncoder(os.Stdout).Encode(output)
}

func main() {
	if err := render(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
