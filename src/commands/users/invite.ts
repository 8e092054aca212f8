import type { Language } from '../../contract/languages.js'
import { isRefused, type Refused } from '../../contract/outcome.js'
import type { Invitation } from '../../domain/invitations/invitations.js'
import { longestAccessToken } from '../../domain/tokens/token-length.js'
import { undoLifetime } from '../../domain/undos/undos.js'
import { days } from '../../lib/durations.js'
import {
  type Command,
  type CommandContext,
  CommandFailure,
  emailFrom,
  operator,
  print,
  readArguments,
  UsageFault,
  withNouns,
} from '../command.js'
import { groupNameFrom } from '../groups/group-name.js'
import { printList } from '../terminal/print-list.js'
import { printableJson } from '../terminal/printable-json.js'
import { asTable } from '../terminal/table.js'
import { languageCodes, readLanguage } from './language-option.js'

type Output = { json: boolean }

type NewInvitation = { address: string; language: Language; groups: readonly string[] | undefined }

const whyRefused = (
  refusal:
    | Refused<'has_account' | 'email_reserved' | 'too_many_groups' | 'group_of_administrators' | 'too_many_mails'>
    | (Refused<'no_group'> & { group: string }),
  email: string,
) => {
  if (refusal.refused === 'no_group')
    return `There is no group ${refusal.group}. Make it with: latchkey group add ${refusal.group}`
  if (refusal.refused === 'too_many_groups')
    return `These are too many groups: an access token must stay under ${longestAccessToken} bytes.`
  if (refusal.refused === 'group_of_administrators')
    return 'An invitation does not make administrators. Add the user to the group when the account is there: latchkey user groups'
  if (refusal.refused === 'too_many_mails')
    return `${email} has got as many invitations as an address may get in a day. Nothing was sent.`
  if (refusal.refused === 'email_reserved')
    return `${email} is kept for a user who had it in the last ${undoLifetime / days} days. Nothing was sent.`
  return `${email} has an account. Nothing was sent.`
}

const invite = (context: CommandContext, { address, language, groups }: NewInvitation, { json }: Output) => {
  const email = emailFrom(address)
  return withNouns(context, 'service role', async ({ invitations, pageAddress }) => {
    const invitation = await invitations.invite(email, { ...operator(context), language }, groups)
    if (isRefused(invitation)) throw new CommandFailure(whyRefused(invitation, email.email))
    const link = pageAddress('invite', invitation.token)
    const expiresAt = invitation.expiresAt.toISOString()
    await print(
      context.stdout,
      json
        ? printableJson({ email: email.email, groups: invitation.groups, link, expiresAt })
        : `Invited ${email.email}. A running service sends the mail. The link works once, until ${expiresAt}:\n${link}`,
    )
    return 0
  })
}

const invitationTable = (openInvitations: readonly Invitation[]) =>
  asTable([
    ['EMAIL', 'INVITED', 'EXPIRES', 'GROUPS'],
    ...openInvitations.map(({ email, groups, createdAt, expiresAt }) => [
      email,
      createdAt.toISOString(),
      expiresAt.toISOString(),
      groups.join(', '),
    ]),
  ])

const list = (context: CommandContext, { json }: Output) =>
  withNouns(context, 'service role', async ({ invitations }) => {
    const openInvitations = await invitations.listOpen()
    await printList(context, openInvitations, {
      json,
      asTable: invitationTable,
      none: 'There are no open invitations.',
    })
    return 0
  })

const revoke = (context: CommandContext, address: string, { json }: Output) => {
  const email = emailFrom(address)
  return withNouns(context, 'service role', async ({ invitations }) => {
    if (!(await invitations.revoke(email, operator(context))))
      throw new CommandFailure(`${email.email} has no open invitation.`)
    const message = `Withdrew the invitation of ${email.email}.`
    await print(context.stdout, json ? printableJson({ email: email.email, revoked: true }) : message)
    return 0
  })
}

export const inviteCommand: Command = {
  summary: 'Invite an address to create an account',
  help: `latchkey invite EMAIL [--group NAME]... [--language ${languageCodes}] [--json]
latchkey invite --list [--json]
latchkey invite --revoke EMAIL [--json]

Mails a link with which the owner of the address can create an account, and prints another link. This works with every value of
REGISTRATION and for every domain. A link works once, for 7 days and for this address only. The mailed link proves the
address. The printed link, which you may hand over, does not: a mail to confirm the address follows. With a provider that has
verified the address, no link is needed.
A new invitation replaces the one before it, and keeps its groups unless you name others. An invitation is used up when the account
is created. An address gets at most five invitations in a day.

  --group NAME      the account that is created with it is in this group; can be given several times
  --language CODE   language of the mail, by default en
  --list            list the open invitations
  --revoke EMAIL    withdraw the invitation of this address; a registration with it cannot be finished any more
  --json            one JSON object on each line, for programs`,

  run: async (args, context) => {
    const { values, positionals } = readArguments(
      args,
      {
        language: { type: 'string' },
        group: { type: 'string', multiple: true },
        list: { type: 'boolean' },
        revoke: { type: 'string' },
        json: { type: 'boolean' },
      },
      args.some((arg) => /^--(list|revoke)(=|$)/.test(arg)) ? [] : ['EMAIL'],
    )
    const { language, group, list: asksForList, revoke: revokedEmail, json = false } = values
    const hasInvitationOptions = language !== undefined || group !== undefined
    if ([asksForList, revokedEmail, hasInvitationOptions || undefined].filter((each) => each !== undefined).length > 1)
      throw new UsageFault('--list and --revoke go with no other option than --json.')
    if (asksForList) return list(context, { json })
    if (revokedEmail !== undefined) return revoke(context, revokedEmail, { json })
    const groups = group && [...new Set(group.map(groupNameFrom))].sort()
    return invite(
      context,
      { address: positionals[0] ?? '', language: readLanguage(language ?? 'en'), groups },
      { json },
    )
  },
}
