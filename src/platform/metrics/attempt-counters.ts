import { Counter, type Registry } from 'prom-client'

type Attempts<Outcome extends string> = { name: string; help: string; outcomes: readonly Outcome[] }

const webhooks = {
  name: 'latchkey_webhooks_total',
  help: 'Attempts to deliver a webhook, by outcome: delivered, failed, given_up.',
  outcomes: ['delivered', 'failed', 'given_up'],
} as const

const logoutNotices = {
  name: 'latchkey_logout_notices_total',
  help: 'Attempts to tell an application that a session has ended, by outcome: delivered, refused (with 400, for good), failed (tried again later), given_up.',
  outcomes: ['delivered', 'refused', 'failed', 'given_up'],
} as const

const mails = {
  name: 'latchkey_mails_total',
  help: 'Attempts to send a mail, by outcome: accepted, failed (tried again later), refused (for good), given_up.',
  outcomes: ['accepted', 'failed', 'refused', 'given_up'],
} as const

/** Creates the counters of attempts to reach another server, outside of requests. */
export const createAttemptCounters = (registers: Registry[]) => {
  const counterOf = <Outcome extends string>({ name, help, outcomes }: Attempts<Outcome>) => {
    const counter = new Counter({ name, help, labelNames: ['outcome'] as const, registers })
    for (const outcome of outcomes) counter.inc({ outcome }, 0)
    return (outcome: Outcome) => counter.inc({ outcome })
  }
  return { webhook: counterOf(webhooks), logoutNotice: counterOf(logoutNotices), mail: counterOf(mails) }
}
