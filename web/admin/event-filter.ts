import type { Answer } from '#client/client.js'
import type { AdminEvent } from '#contract/admin/admin-bodies.js'
import { type EventKind, mailEventKinds } from '#contract/events.js'
import type { Words } from '../words/catalogue.js'
import { calls } from './calls.js'

/** The topics of the filter, each with its kinds of events. */
export const eventTopics: Record<keyof Words['admin']['eventList']['topicNames'], readonly EventKind[]> = {
  signIns: ['signed_in', 'signed_out', 'signed_out_everywhere', 'session_ended', 'registered', 'stepped_up'],
  failures: [
    'sign_in_failed',
    'second_factor_failed',
    'password_change_failed',
    'email_change_failed',
    'step_up_failed',
    'rate_limited',
    'refresh_theft',
  ],
  changes: [
    'reset_requested',
    'password_reset',
    'password_changed',
    'email_change_asked',
    'email_changed',
    'email_change_undone',
    'factor_undone',
    'totp_added',
    'totp_replaced',
    'totp_removed',
    'recovery_code_used',
    'recovery_codes_renewed',
    'passkey_added',
    'passkey_removed',
    'provider_linked',
    'provider_unlinked',
  ],
  administration: [
    'user_added',
    'user_invited',
    'invitation_revoked',
    'user_disabled',
    'user_enabled',
    'user_locked_down',
    'admin_session_began',
    'user_deleted',
    'sessions_ended',
    'factors_reset',
    'password_expired',
    'limits_cleared',
    'email_set',
    'account_recovered',
    'group_added',
    'group_deleted',
    'group_joined',
    'group_left',
    'application_added',
    'application_changed',
    'application_deleted',
  ],
  applications: ['application_used', 'application_access_ended', 'application_token_reused', 'application_refused'],
  mails: mailEventKinds,
}

/** The parameter `kind` of the API for the chosen topic, or for one chosen kind. */
const kindsFor = (chosen: string) =>
  Object.hasOwn(eventTopics, chosen) ? eventTopics[chosen as keyof typeof eventTopics].join(',') : chosen

const hour = 3_600_000
export const spans = {
  all: undefined,
  hour,
  day: 24 * hour,
  week: 7 * 24 * hour,
  month: 30 * 24 * hour,
} satisfies Record<keyof Words['admin']['eventList']['spans'], number | undefined>

/** The moment at which a span of time begins. */
const startOfSpan = (chosen: string, now: number) => {
  const length = Object.hasOwn(spans, chosen) ? spans[chosen as keyof typeof spans] : undefined
  return length === undefined ? undefined : new Date(now - length).toISOString()
}

/** The filter in the fragment of the URL: `kind` may be a topic, `since` is a span of time. */
export type EventFilter = { user: string; kind: string; ip: string; since: string }

export const askForEvents = async (
  { user, kind, ip, since }: EventFilter,
  paging: { after?: string; from?: string },
): Promise<Answer<{ items: AdminEvent[]; next: string | null }>> => {
  const sinceMoment = paging.from ?? startOfSpan(since, Date.now())
  const answer = await calls.events({
    user: user.trim(),
    kind: kindsFor(kind),
    ip: ip.trim(),
    ...(sinceMoment && { since: sinceMoment }),
    ...(paging.after && { after: paging.after }),
  })
  return answer.refused ? answer : { value: { items: answer.value.events, next: answer.value.next } }
}
