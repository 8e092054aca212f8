import type { Keys } from '../keys/open-keys.js'
import type { Design } from '../lib/design.js'
import type { Mailer } from '../platform/mail/mail.js'
import type { Platform } from '../platform/platform.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { Config } from '../settings/config.js'
import type { UsersRoom } from '../users/open-users.js'
import { createAdministratorTrail } from './administrator-trail.js'
import { createConfigurationTrail } from './configuration-trail.js'
import { createEvents } from './events.js'
import { letterheadOf } from './layout.js'
import { createMailedCodes } from './mailed-codes.js'
import { createMails } from './mails.js'
import { createOneTimeTokens } from './one-time-tokens.js'
import { createWebhooks, type Receiver } from './webhooks.js'

export type MessagesRoom = ReturnType<typeof openMessages>

type Outside = {
  mailer: Mailer
  webhookReceiver: Receiver | undefined
  /** True for commands. Their own log is not collected, so a running service logs their events. */
  leavesEventsToService: boolean
} & Parameters<typeof letterheadOf>[1]

export const openMessages = (
  config: Config,
  platform: Platform & Outside & { design: Design },
  { keysFor, sealFor }: Keys,
  { profileFields, nameMarks, administrators }: UsersRoom & SessionsRoom,
) => {
  const { database, clock, log, metrics, mailer, webhookReceiver: receiver } = platform
  const webhooks = createWebhooks({
    database,
    clock,
    receiver,
    knownFields: profileFields.knownValues,
    onOutcome: metrics?.countAttempt.webhook,
    log,
  })
  const events = createEvents({
    database,
    clock,
    nameMarks,
    // Listeners are called after the commit, so a webhook that was written in the same transaction can be sent now.
    listeners: [(recorded) => log.info(recorded, 'event'), (_, event) => metrics?.countEvent(event), webhooks.wake],
    leavesEventsToService: platform.leavesEventsToService,
    administrators,
    onLost: (err) => log.error({ err }, 'an event could not be written to the database'),
  })
  const mails = createMails({
    database,
    clock,
    log,
    events,
    mailer,
    mailIsOff: config.mailIsOff,
    seal: sealFor('outgoing mail'),
    letterhead: letterheadOf(config, platform),
    onOutcome: metrics?.countAttempt.mail,
  })
  return {
    webhooks,
    events,
    mails,
    configurationTrail: createConfigurationTrail({ events, mails, administrators }),
    administratorTrail: createAdministratorTrail({ events, mails, administrators }),
    mailedCodes: createMailedCodes({ database, clock, mails, codeKeys: keysFor('mailed code') }),
    oneTimeTokens: createOneTimeTokens({ database, clock }),
  }
}
