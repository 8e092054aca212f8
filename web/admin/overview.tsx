import type { AdminOverview, AttentionCode } from '#contract/admin/admin-bodies.js'
import type { EventKind } from '#contract/events.js'
import { AlertIcon, CheckIcon } from '../components/icons.js'
import { Panel } from '../components/panel.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fullDate } from '../words/dates.js'
import { fill } from '../words/format.js'
import { calls } from './calls.js'
import { fragmentOf } from './place.js'
import { Plot } from './plot.js'
import { Loaded, Screen } from './screen.js'
import { useRead } from './use-read.js'

export const OverviewScreen = () => {
  const words = useWords('admin')
  const read = useRead(calls.overview)
  return (
    <Screen title={words.overview}>
      <Loaded {...read}>
        {({ attention, days }) => (
          <div class="stack">
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

/** Where the events about it are. */
const eventsAbout: Partial<Record<AttentionCode, EventKind>> = {
  mails_failing: 'mail_refused',
  mails_given_up: 'mail_given_up',
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
      {attention.map(({ code, count, since }) => {
        const kind = eventsAbout[code]
        return (
          <li key={code} class="finding">
            <AlertIcon />
            <div class="row-text">
              <strong>{fill(words.attention.sentences[code], { count: `${count ?? 1}` })}</strong>
              {since !== null && <span>{fill(words.attention.since, { date: fullDate(since, locale) })}</span>}
            </div>
            {kind && <a href={fragmentOf('events', undefined, { kind })}>{words.attention.show}</a>}
          </li>
        )
      })}
    </ul>
  )
}
