import type { AdminOverview, AttentionCode } from '#contract/admin/admin-bodies.js'
import type { EventKind } from '#contract/events.js'
import { AlertIcon, CheckIcon } from '../components/icons.js'
import { NextSteps } from '../components/next-steps.js'
import { Panel } from '../components/panel.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { dateWithZone } from '../words/dates.js'
import { fill } from '../words/format.js'
import { calls } from './calls.js'
import { fragmentOf, type Place } from './place.js'
import { Plot } from './plot.js'
import { Loaded, Screen } from './screen.js'
import { useRead } from './use-read.js'

/** Right after the setup, the next steps come first. */
export const OverviewScreen = ({ query }: Place) => {
  const words = useWords('admin')
  const read = useRead(calls.overview)
  return (
    <Screen title={words.overview}>
      <Loaded {...read}>
        {({ attention, days }) => (
          <div class="stack">
            {query.setup === 'done' && <NextSteps invitations={fragmentOf('invitations')} />}
            <Panel title={words.attention.heading}>
              <Attention attention={attention} />
            </Panel>
            <Panel title={words.plot.heading}>
              <Plot days={days} />
            </Panel>
          </div>
        )}
      </Loaded>
    </Screen>
  )
}

/** The filter that shows the events about each code. */
const eventsAbout: Partial<Record<AttentionCode, { kind: EventKind; since: string }>> = {
  mails_refused: { kind: 'mail_refused', since: 'day' },
  mails_given_up: { kind: 'mail_given_up', since: 'week' },
  ceiling_reached: { kind: 'ceiling_reached', since: 'day' },
}

const Attention = ({ attention }: Pick<AdminOverview, 'attention'>) => {
  const words = useWords('admin')
  const { locale } = useSettings()
  if (attention.length === 0) {
    return (
      <p class="finding fine">
        <CheckIcon />
        <span>{words.attention.fine}</span>
      </p>
    )
  }
  return (
    <ul class="findings">
      {attention.map(({ code, count, since, detail }) => {
        const filter = eventsAbout[code]
        return (
          <li key={code} class="finding">
            <AlertIcon />
            <div class="row-text">
              <strong>{fill(words.attention.sentences[code], { count: `${count ?? 1}` })}</strong>
              {code === 'mails_failing' && (
                <span>
                  {detail === null ? words.attention.noAnswer : fill(words.attention.answer, { answer: detail })}
                </span>
              )}
              {since !== null && <span>{fill(words.attention.since, { date: dateWithZone(since, locale) })}</span>}
            </div>
            {filter && <a href={fragmentOf('events', undefined, filter)}>{words.attention.show}</a>}
          </li>
        )
      })}
    </ul>
  )
}
