package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/ringmaster-project/ringmaster/framework/jobs/spec"
)

func jobSchemaCommand() *cli.Command {
	return &cli.Command{
		Name: "schema", Usage: "the JSON schema of job files, for editors",
		Description: examples("ringmaster job schema > ringmaster-job.json",
			"# the first line of a job file then tells the editor: # yaml-language-server: $schema=ringmaster-job.json"),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0); err != nil {
				return err
			}
			_, err := c.App.Writer.Write(spec.SchemaText())
			return err
		},
	}
}
