import type { Application } from '../../applications/applications.js'
import { seconds } from '../../lib/durations.js'
import { CommandFailure, command } from '../command.js'
import { asTable, listOf, printableText, quoteCommand } from '../terminal/printing.js'
import { accessText, requireApplication, throwIfRefused } from './application-options.js'

const applicationTable = (applications: readonly Application[]) =>
  asTable([
    ['NAME', 'KIND', 'FOR', 'HOME', 'ID'],
    ...applications.map((each) => [each.name, each.kind, accessText(each), each.document ?? each.home, each.id]),
  ])

export const applicationList = command({
  summary: 'List the applications that sign their users in here',
  help: `latchkey application list [--json]`,
  json: 'one JSON object on each line: {"id", "name", "home", "kind", "redirectAddresses", "access", "groups", "setByFile"?, …}',
  run: async ({ applications }) => {
    const none = 'There are no applications. Add one with: latchkey application add'
    return listOf(await applications.list(), { asTable: applicationTable, none })
  },
})

const rowsFor = (name: string, values: readonly string[]) =>
  values.length > 0 ? values.map((value, index) => [index === 0 ? name : '', value]) : [[name, 'none']]

/** The lines about each field, in the order of the list. */
const fieldRows: Record<keyof Application, (application: Application, issuer: string) => string[][]> = {
  name: ({ name }) => [['name', name]],
  id: ({ id }, issuer) => [
    ['id', id],
    ['issuer', issuer],
  ],
  document: ({ document }) => (document === undefined ? [] : [['document', document]]),
  kind: ({ kind }) => [['kind', kind]],
  access: (application) => [['for', accessText(application)]],
  // They stand in the line before.
  groups: () => [],
  home: ({ home }) => [['home', home]],
  redirectAddresses: ({ redirectAddresses }) => rowsFor('redirect', redirectAddresses),
  logoutAddresses: ({ logoutAddresses }) => rowsFor('after logout', logoutAddresses),
  backchannelLogout: ({ backchannelLogout }) => [['back-channel logout', backchannelLogout ?? 'none']],
  consent: ({ consent }) => [['consent', consent]],
  factors: ({ factors }) => [['factors', String(factors)]],
  maxAge: ({ maxAge }) => [['max age', maxAge === undefined ? 'any' : `${maxAge / seconds} s`]],
  pkce: ({ pkce }) => [['PKCE', pkce ? 'required' : 'not required']],
  algorithm: ({ algorithm }) => [['algorithm', algorithm]],
  deviceFlow: ({ kind, deviceFlow }) =>
    kind === 'native' ? [['devices', deviceFlow ? 'may sign in' : 'may not sign in']] : [],
  proxyOrigin: ({ proxyOrigin }) => (proxyOrigin === undefined ? [] : [['proxy', proxyOrigin]]),
  openPaths: ({ openPaths }) => (openPaths.length === 0 ? [] : rowsFor('open', openPaths)),
  openPreflight: ({ openPreflight }) => (openPreflight ? [['open', 'preflights of other sites (CORS)']] : []),
  tokens: ({ proxyOrigin, tokens }) =>
    proxyOrigin === undefined ? [] : [['personal tokens', tokens ? 'taken' : 'not taken']],
  createdAt: ({ createdAt }) => [['created', createdAt.toISOString()]],
  setByFile: ({ setByFile }) => (setByFile === undefined ? [] : [['set by', setByFile]]),
  secretsByFile: ({ setByFile, secretsByFile }) => (secretsByFile ? [['secrets set by', setByFile ?? '']] : []),
}

const fieldsOf = (application: Application, issuer: string) =>
  Object.values(fieldRows).flatMap((rows) => rows(application, issuer))

const problemLines = (title: string, problems: readonly { seenAt: Date; count: number; message: string }[]) =>
  `${title}\n${asTable(problems.map(({ seenAt, count, message }) => [seenAt.toISOString(), `${count}x`, message]))}`

export const applicationShow = command({
  summary: 'Show an application, and what went wrong with it lately',
  help: `latchkey application show APPLICATION [--json]

APPLICATION is a name or an id. The last 20 different errors of an application are kept, with a fixed share for each kind of
error. A request that ended normally without a sign-in (a user cancelled, or was not signed in) is counted separately, not as an
error.`,
  json: 'the application, and {"issuer", "secrets": [{"id", "createdAt"}], "errors": [{"kind", "message", "count", "seenAt"}], "normalEnds": […]}',
  args: ['APPLICATION'],
  run: async (rooms, { args: [named] }) => {
    const application = await requireApplication(rooms, named)
    const { issuer, applicationSecrets, applicationErrors } = rooms
    const secrets = await applicationSecrets.list(application.id)
    const { errors, normalEnds } = await applicationErrors.list(application.id)
    const secretTexts = secrets.map(({ id, createdAt }) => `${id} of ${createdAt.toISOString().slice(0, 10)}`)
    const parts = [
      asTable([...fieldsOf(application, issuer), ...rowsFor('secret', secretTexts)]),
      errors.length > 0 ? problemLines('Last errors:', errors) : 'No errors are known.',
      ...(normalEnds.length > 0 ? [problemLines('Ended without a sign-in, which is no error:', normalEnds)] : []),
    ]
    return { json: { ...application, issuer, secrets, errors, normalEnds }, text: parts.join('\n\n') }
  },
})

export const applicationCheck = command({
  summary: 'Ask the site of an application behind a proxy, as a visitor would',
  help: `latchkey application check APPLICATION [--json]

Asks the site of --proxy from this machine, as strangers do, and says what is wrong: it cannot be reached, it is not behind the
check, the proxy names another address, hides headers from the check, or passes cookies of Latchkey on (seen only where an open
page repeats what it was sent), and whether the sign-in page is there. It asks at / and at one path below /api/: rules for other
paths in the proxy are not seen. Run it from outside of the network too. Ends with 1 if users are not protected or cannot get
in. APPLICATION is a name or an id.`,
  json: '{"findings": [{"level": "ok", "warning" or "error", "says": …}]}',
  args: ['APPLICATION'],
  run: async (rooms, { args: [named] }) => {
    const application = await requireApplication(rooms, named)
    const { name, proxyOrigin } = application
    if (proxyOrigin === undefined)
      throw new CommandFailure(
        `${printableText(name)} is not behind a proxy. Name its site with: ${quoteCommand('application change', name)} --proxy https://wiki.example.com`,
      )
    const { checkSite } = await import('./site-check.js')
    const asked = await checkSite(application, proxyOrigin, new URL(rooms.issuer).origin)
    const findings = asked.map(({ level, says }) => ({ level: level === 'unreachable' ? 'error' : level, says }))
    const width = Math.max(...findings.map(({ level }) => level.length))
    const lines = findings.map(({ level, says }) => `${level.padEnd(width)}  ${printableText(says)}`)
    const code = findings.some(({ level }) => level === 'error') ? 1 : 0
    return { json: { findings }, text: lines.join('\n'), code }
  },
})

export const applicationDelete = command({
  summary: 'Delete an application: users cannot sign in to it any more',
  help: `latchkey application delete APPLICATION [--yes] [--json]

Its codes, tokens and consents are deleted with it, and its address gets no logout notice any more. An application with
signed-in users is deleted only with --yes. APPLICATION is a name or an id.

  --yes     delete it although it has signed-in users`,
  json: '{"id", "name", "deleted"}',
  args: ['APPLICATION'],
  options: { yes: { type: 'boolean' } },
  run: async (rooms, { args: [named], values, operator }) => {
    const { id, name } = await requireApplication(rooms, named)
    throwIfRefused(await rooms.applicationChanges.delete(id, operator, { evenIfUsed: values.yes ?? false }), name)
    return { json: { id, name, deleted: true }, text: `Deleted ${printableText(name)}.` }
  },
})

export const applicationSecretAdd = command({
  summary: 'Make a second secret for an application, to replace the first',
  help: `latchkey application secret add APPLICATION [--json]

Prints the new secret, once. Both secrets work until the older one is removed, so that no sign-in fails meanwhile. Put the
new one into the application, then run \`latchkey application secret remove APPLICATION\`.`,
  json: '{"id": …, "secret": …}; the id is that of the secret',
  printsOnce: true,
  args: ['APPLICATION'],
  run: async (rooms, { args: [named], operator }) => {
    const { id: applicationId, name } = await requireApplication(rooms, named)
    const added = throwIfRefused(await rooms.applicationChanges.addSecret(applicationId, operator), name)
    const { id, secret } = added
    const next = quoteCommand('application secret remove', name)
    return {
      json: { id, secret },
      text: `${secret}\nThe secret is shown only now. When ${printableText(name)} uses it: ${next}`,
    }
  },
})

export const applicationSecretRemove = command({
  summary: 'Remove the older secret of an application',
  help: `latchkey application secret remove APPLICATION [SECRET] [--json]

Removes the older of two secrets, or the one with the id SECRET (\`latchkey application show\` prints the ids). It stops working at
once. The only secret of an application cannot be removed.`,
  json: '{"id": …}',
  args: ['APPLICATION', '[SECRET]'],
  run: async (rooms, { args: [named, secretId], operator }) => {
    const { id: applicationId, name } = await requireApplication(rooms, named)
    const removed = await rooms.applicationChanges.removeSecret(applicationId, secretId, operator)
    const { id } = throwIfRefused(removed, name)
    return { json: { id }, text: `Removed a secret of ${printableText(name)}.` }
  },
})
