import { undoLifetime } from '../../account-changes/undos.js'
import type { Language } from '../../contract/languages.js'
import { isRefused, type Refused } from '../../contract/outcome.js'
import { timeSpan } from '../../contract/time-spans.js'
import { days, hours, seconds } from '../../lib/durations.js'
import type { Invitation, InvitationWishes } from '../../registration/invitations.js'
import { longestAccessToken } from '../../sessions/tokens.js'
import {
  type Command,
  type CommandContext,
  CommandFailure,
  emailFrom,
  groupNameFrom,
  operator,
  print,
  readArguments,
  UsageFault,
  withNouns,
} from '../command.js'
import { asTable, printableJson, printList } from '../terminal/printing.js'
import { languageCodes, readLanguage } from './user-add.js'

type Output = { json: boolean }

type NewInvitation = { address: string; language: Language; wishes: InvitationWishes; isPrinted: boolean }

const whyRefused = (
  refusal:
    | Refused<'has_account' | 'email_reserved' | 'group_of_administrators' | 'mail_is_off' | 'address_not_proven'>
    | (Refused<'too_many_groups'> & { message?: string })
    | (Refused<'bad_request'> & { message: string })
    | (Refused<'no_group'> & { group: string })
    | (Refused<'too_many_mails'> & { retryAfter: number }),
  email: string,
) => {
  switch (refusal.refused) {
    case 'no_group':
      return `There is no group ${refusal.group}. Make it with: latchkey group add ${refusal.group}`
    case 'too_many_groups':
      return `${refusal.message ?? `These are too many groups: an access token must stay under ${longestAccessToken} bytes`}.`
    case 'group_of_administrators':
      return 'An invitation does not make administrators. Add the user to the group when the account is there: latchkey user groups'
    case 'mail_is_off':
      return 'SMTP_URL is not set, so no mail is sent. Add --print for a link that you hand over yourself.'
    case 'address_not_proven':
      return `${email} has an account whose address was never proven. Add its user to groups with: latchkey user groups`
    case 'too_many_mails':
      return `${email} has got as many invitations as an address may get in a day. Nothing was sent. The next one is possible in ${timeSpan(Math.ceil((refusal.retryAfter * seconds) / hours) * hours, 'en')}.`
    case 'email_reserved':
      return `${email} is kept for a user who had it in the last ${undoLifetime / days} days. Nothing was sent.`
    case 'bad_request':
      return `${refusal.message.replace('invitedBy', '--invited-by').replace('returnTo', '--return-to')}.`
    case 'has_account':
      return `${email} has an account, and can only be invited to groups (--group). Nothing was sent.`
  }
}

const invite = (context: CommandContext, { address, language, wishes, isPrinted }: NewInvitation, { json }: Output) => {
  const email = emailFrom(address)
  return withNouns(context, 'service role', async ({ invitations, pageAddress }) => {
    const make = isPrinted ? invitations.print : invitations.invite
    const invitation = await make(email, { ...operator(context), language }, wishes)
    if (isRefused(invitation)) throw new CommandFailure(whyRefused(invitation, email.email))
    const link = pageAddress('invite', invitation.token)
    const expiresAt = invitation.expiresAt.toISOString()
    const { invitedBy, returnTo, groups } = invitation
    const wished = { ...(invitedBy !== null && { invitedBy }), ...(returnTo !== null && { returnTo }) }
    await print(
      context.stdout,
      json
        ? printableJson({ email: email.email, groups, ...wished, link, expiresAt })
        : isPrinted
          ? link
          : `Invited ${email.email}. A running service sends the mail. The link works once, until ${expiresAt}:\n${link}`,
    )
    return 0
  })
}

const invitationTable = (openInvitations: readonly Invitation[]) =>
  asTable([
    ['EMAIL', 'INVITED', 'EXPIRES', 'GROUPS', 'MADE BY', 'INVITED BY', 'RETURN TO'],
    ...openInvitations.map(({ email, groups, madeBy, invitedBy, returnTo, createdAt, expiresAt }) => [
      email,
      createdAt.toISOString(),
      expiresAt.toISOString(),
      groups.join(', '),
      madeBy,
      invitedBy ?? '',
      returnTo ?? '',
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

const revoke = (context: CommandContext, address: string, madeBy: string | undefined, { json }: Output) => {
  const email = emailFrom(address)
  return withNouns(context, 'service role', async ({ invitations }) => {
    const revoked = await invitations.revoke(email, operator(context), madeBy)
    if (revoked === 0)
      throw new CommandFailure(
        `${email.email} has no open invitation${madeBy === undefined ? '' : ` that was made by ${madeBy}`}.`,
      )
    const message = `Withdrew ${revoked === 1 ? 'the invitation' : `${revoked} invitations`} of ${email.email}.`
    await print(context.stdout, json ? printableJson({ email: email.email, revoked: true }) : message)
    return 0
  })
}

export const inviteCommand: Command = {
  summary: 'Invite an address to create an account, or to join groups with its account',
  help: `latchkey invite EMAIL [--group NAME]... [--invited-by NAME] [--return-to PAGE] [--language ${languageCodes}] [--json]
latchkey invite EMAIL --print [--group NAME]... [--invited-by NAME] [--return-to PAGE] [--json]
latchkey invite --list [--json]
latchkey invite --revoke EMAIL [--made-by MAKER] [--json]

Mails a link with which the owner of the address can create an account, and prints another link. This works with every value of
REGISTRATION and for every domain. A link works once, for 7 days and for this address only. The mailed link proves the
address. The printed link, which you may hand over, does not: a mail to confirm the address follows. With a provider that has
verified the address, no link is needed. An address that has an account can only be invited to groups: its owner signs in, opens the
link and joins them.
A new invitation replaces the one that was made before on the command line, and keeps its groups, name and page unless you give
others. Those of administrators and of programs with a service key stay. An invitation is used up when the account is created or
has joined. An address gets at most five invitations in a day, whoever makes them.
With --print no mail is sent, and only the link is printed. It works once, for 24 hours. Whoever opens it creates the account at
once, without confirming the address, so the address stays unproven and opens nothing: no mail to it and no provider that has
it lets anyone in. This also works where no mails are sent (SMTP_URL).

  --print           print a link that you hand over, and mail nothing
  --group NAME      who accepts it is in this group; can be given several times
  --invited-by NAME who invites, for the mail and the page: at most 64 characters
  --return-to PAGE  where the user goes afterwards: a path such as /wiki, or a page of an origin in ALLOWED_ORIGINS
  --language CODE   language of the mail to an address without an account, by default en
  --list            list the open invitations
  --revoke EMAIL    withdraw the invitations of this address; a registration with them cannot be finished any more
  --made-by MAKER   withdraw only the one of this maker, written as in the list, such as "service key hr"
  --json            one JSON object on each line, for programs`,

  run: async (args, context) => {
    const { values, positionals } = readArguments(
      args,
      {
        language: { type: 'string' },
        print: { type: 'boolean' },
        group: { type: 'string', multiple: true },
        'invited-by': { type: 'string' },
        'return-to': { type: 'string' },
        list: { type: 'boolean' },
        revoke: { type: 'string' },
        'made-by': { type: 'string' },
        json: { type: 'boolean' },
      },
      args.some((arg) => /^--(list|revoke)(=|$)/.test(arg)) ? [] : ['EMAIL'],
    )
    const { language, group, list: asksForList, revoke: revokedEmail, 'made-by': madeBy, json = false } = values
    const { print: isPrinted, 'invited-by': invitedBy, 'return-to': returnTo } = values
    const hasInvitationOptions = [language, group, invitedBy, returnTo, isPrinted].some((each) => each !== undefined)
    if ([asksForList, revokedEmail, hasInvitationOptions || undefined].filter((each) => each !== undefined).length > 1)
      throw new UsageFault('--list and --revoke go with no other option than --json, and --revoke with --made-by.')
    if (isPrinted && language !== undefined)
      throw new UsageFault('--language is that of a mail, and --print sends none.')
    if (madeBy !== undefined && revokedEmail === undefined) throw new UsageFault('--made-by goes with --revoke only.')
    if (asksForList) return list(context, { json })
    if (revokedEmail !== undefined) return revoke(context, revokedEmail, madeBy, { json })
    const groups = group && [...new Set(group.map(groupNameFrom))].sort()
    const wishes = { groups, invitedBy, returnTo }
    return invite(
      context,
      {
        address: positionals[0] ?? '',
        language: readLanguage(language ?? 'en'),
        wishes,
        isPrinted: isPrinted ?? false,
      },
      { json },
    )
  },
}
