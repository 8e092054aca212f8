import { CommandFailure, command } from '../command.js'

export const setupLink = command({
  summary: 'Print a link with which the first account is made',
  help: `latchkey setup-link [--json]

Prints a link that makes the first account, which is an administrator's: it works for an hour. The start of the service logs such
a link too, as long as there is no user; links that were made before work on. All of them end with the first user, however it is
added. If there is a user, nothing is printed and the exit code is 1: docs/administrators.md says how a user becomes an
administrator.`,
  json: '{"link"}',
  printsOnce: true,
  run: async ({ setup }) => {
    const link = await setup.makeLink()
    if (link === undefined) {
      const advice = await setup.adviceWithoutAdministrator()
      throw new CommandFailure(`There is a user, so the setup is over${advice === undefined ? '' : `: ${advice}`}.`)
    }
    return { json: { link }, text: link }
  },
})
