import { command } from '../command.js'

export const exportConfiguration = command({
  summary: 'Print groups, applications and settings as a configuration file',
  help: `latchkey export [--json]

Prints what is there now, sorted and without secrets and icons, as a file for \`latchkey apply\`: applying it changes nothing but the
owner. Of the settings it has those that a file or an administrator has set.`,
  json: 'the same as JSON, in one object',
  run: async ({ configurationFiles }) => {
    const json = await configurationFiles.export()
    const { writeDocument } = await import('../../configuration/document.js')
    return { json, text: writeDocument(json) }
  },
})
