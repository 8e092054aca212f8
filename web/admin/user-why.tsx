import { useState } from 'preact/hooks'
import type { AdminObstacle, UserAction } from '#contract/admin/admin-bodies.js'
import { labelIn } from '#contract/profile-fields.js'
import { Button } from '../components/button.js'
import { AlertIcon, CheckIcon } from '../components/icons.js'
import { Panel } from '../components/panel.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { dateWithZone } from '../words/dates.js'
import { fill } from '../words/format.js'
import { useAdmin } from './admin-context.js'
import { ActionDialog, mayEnable, type UserProps, useWhyUnchangeable } from './user-changes.js'

/** The obstacles to a sign-in of the user, each with what solves it. */
export const UserWhy = (props: UserProps) => {
  const words = useWords('admin').user
  const [chosenAction, setChosenAction] = useState<UserAction>()
  const sentenceOf = useObstacleSentence(props.user)
  const { why } = props.user
  const { mayManage } = useAdmin()
  const mayChange = useWhyUnchangeable(props.user) === undefined
  const mayDo = (action: AdminObstacle['solvedBy']) =>
    mayChange && (action !== 'enable' || mayEnable(props.user, mayManage))
  return (
    <Panel title={words.whyHeading} step={why.map(({ code }) => code).join()}>
      {why.length === 0 ? (
        <p class="finding fine">
          <CheckIcon />
          <span>{words.whyNothing}</span>
        </p>
      ) : (
        <ul class="findings">
          {why.map((obstacle) => (
            <li key={`${obstacle.code} ${obstacle.subject}`} class="finding">
              <AlertIcon />
              <span>{sentenceOf(obstacle)}</span>
              <Solution obstacle={obstacle} isPossible={mayDo(obstacle.solvedBy)} onAsk={setChosenAction} />
            </li>
          ))}
        </ul>
      )}
      {chosenAction && <ActionDialog {...props} action={chosenAction} onClose={() => setChosenAction(undefined)} />}
    </Panel>
  )
}

type SolutionProps = { obstacle: AdminObstacle; isPossible: boolean; onAsk: (action: UserAction) => void }

const Solution = ({ obstacle: { solvedBy }, isPossible, onAsk }: SolutionProps) => {
  const words = useWords('admin').user
  if (solvedBy === null || !isPossible) return null
  return <Button onPress={() => onAsk(solvedBy)}>{`${words.solvedBy[solvedBy]}…`}</Button>
}

const useObstacleSentence = ({ fieldDefinitions }: UserProps['user']) => {
  const words = useWords('admin').user
  const { locale, language, mailIsOff } = useSettings()
  const sentences: Readonly<Record<string, string>> = mailIsOff
    ? { ...words.obstacles, ...words.obstaclesWithoutMail }
    : words.obstacles
  const labelOf = (key: string) =>
    labelIn(fieldDefinitions.find((each) => each.key === key)?.labels ?? {}, language, key)
  const subjectText = (code: string, subject: string | null) =>
    code === 'must_give_fields' ? subject?.split(', ').map(labelOf).join(', ') : subject
  return ({ code, subject, until, since, count, detail, message }: AdminObstacle) =>
    fill(sentences[code] ?? message, {
      subject: subjectText(code, subject) ?? '–',
      until: until === null ? '' : dateWithZone(until, locale),
      since: since === null ? '' : dateWithZone(since, locale),
      count: `${count ?? ''}`,
      detail: detail ?? '–',
    })
}
