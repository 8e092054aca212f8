import { useEffect, useState } from 'preact/hooks'
import type { Refusal } from '../../packages/client/src/client.js'
import type { UndoState } from '../../src/contract/schemas.js'
import { isUndoOfEmail } from '../../src/contract/undo-tokens.js'
import { client } from '../client.js'
import { Card } from '../components/card.js'
import { Form, type Problems } from '../components/form.js'
import { Heading } from '../components/heading.js'
import { LoadingCard } from '../components/loading-card.js'
import { Notice } from '../components/notice.js'
import { PageNotLoaded } from '../components/page-not-loaded.js'
import { useLinkToken } from '../link-token.js'
import { mount } from '../mount.js'
import { forgetToken } from '../navigation.js'
import { useProblems } from '../refusals.js'
import { useWords } from '../settings.js'
import { useStableCallback } from '../stable-callback.js'
import { fill } from '../words/format.js'

/** Nothing changes before the button is pressed: mail scanners open links too. */
const Undo = () => {
  const token = useLinkToken()
  return token === undefined ? <NoLink /> : <ByLink key={token} token={token} />
}

const NoLink = () => {
  const words = useWords('undo')
  const common = useWords('common')
  return (
    <Card footer={<a href="/login">{common.backToLogin}</a>}>
      <Heading text={words.title} />
      <Notice kind="info">{words.noLink}</Notice>
    </Card>
  )
}

const isDead = (refused: string | undefined) => refused === 'invalid_link' || refused === 'bad_request'

/** Checks the link first. */
const useUndoLink = (token: string) => {
  const [found, setFound] = useState<UndoState>()
  const [unasked, setUnasked] = useState<Refusal>()
  const [ending, setEnding] = useState<'done' | 'dead'>()
  const endWith = (end: 'done' | 'dead') => {
    forgetToken()
    setEnding(end)
  }
  const load = useStableCallback(async () => {
    const answer = await client.checkUndo({ token })
    if (!answer.refused) setFound(answer.value)
    else if (isDead(answer.refused)) endWith('dead')
    setUnasked(answer.refused ? answer : undefined)
  })
  useEffect(() => {
    void load()
  }, [])
  return { found, unasked, ending, endWith, load }
}

const ByLink = ({ token }: { token: string }) => {
  const words = useWords('undo')
  const problemsOf = useProblems()
  const { found, unasked, ending, endWith, load } = useUndoLink(token)
  const ofEmail = isUndoOfEmail(token)

  const submit = async (): Promise<Problems | undefined> => {
    const answer = await (ofEmail ? client.undoEmail : client.undoFactor)({ token })
    if (answer.refused && !isDead(answer.refused)) return problemsOf(answer)
    endWith(answer.refused ? 'dead' : 'done')
    return undefined
  }

  if (ending === 'done') return <Done ofEmail={ofEmail} />
  if (ending === 'dead') return <DeadLink wasShown={found !== undefined} />
  if (unasked) return <PageNotLoaded heading={words.title} refused={unasked} onTryAgain={load} />
  if (!found) return <LoadingCard />
  const { kind, username, email } = found
  return (
    <Card>
      <Heading text={words.heading} />
      <p class="lead">{fill(words.leads[kind], { username, email: email ?? '' })}</p>
      {!ofEmail && <p class="card-note">{words.consequences}</p>}
      <Form submitLabel={words.submit} onSubmit={submit}>
        <p class="card-note">{words.wasMe}</p>
      </Form>
    </Card>
  )
}

const Done = ({ ofEmail }: { ofEmail: boolean }) => {
  const words = useWords('undo')
  const common = useWords('common')
  return (
    <Card footer={<a href="/login">{common.backToLogin}</a>}>
      <Heading text={words.doneHeading} focused />
      <Notice kind="success">{ofEmail ? words.emailDone : words.factorDone}</Notice>
    </Card>
  )
}

const DeadLink = ({ wasShown }: { wasShown: boolean }) => {
  const words = useWords('undo')
  const common = useWords('common')
  return (
    <Card footer={<a href="/login">{common.backToLogin}</a>}>
      <Heading text={words.deadHeading} focused={wasShown} />
      <Notice kind="error">{words.deadLink}</Notice>
    </Card>
  )
}

mount(Undo)
