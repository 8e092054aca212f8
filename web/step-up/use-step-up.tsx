import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Answer } from '#client/client.js'
import type { ProofMethod } from '#contract/proofs.js'
import { moveFocusTo } from '../browser/focus.js'
import { Button } from '../components/button.js'
import { useWords } from '../hooks/settings.js'
import { StepUpForm } from './step-up-form.js'

/** Makes a call, and makes it again after the user has proven who they are, if it was refused for the lack of that. */
export type WithFreshSignIn = <Value>(call: () => Promise<Answer<Value>>) => Promise<Answer<Value>>

type StepUp = { methods: readonly ProofMethod[]; done: (proven: boolean) => void }

/**
 * One dialog for all changes of a page that need a fresh sign-in. Several calls at once wait for the same dialog. After
 * "cancel" the refusal is returned.
 */
export const useStepUp = () => {
  const [stepUp, setStepUp] = useState<StepUp>()
  const asking = useRef<Promise<boolean> | undefined>(undefined)

  const ask = (methods: readonly ProofMethod[]) => {
    asking.current ??= new Promise<boolean>((resolve) => {
      const done = (proven: boolean) => {
        asking.current = undefined
        setStepUp(undefined)
        resolve(proven)
      }
      setStepUp({ methods, done })
    })
    return asking.current
  }

  const withFreshSignIn: WithFreshSignIn = async (call) => {
    const first = await call()
    if (first.refused !== 'fresh_sign_in_required') return first
    return (await ask(first.methods ?? [])) ? call() : first
  }

  return { stepUp, withFreshSignIn }
}

type Props = StepUp & { username: string; onSignedOut: () => void }

/** The browser keeps the focus inside, closes it on Escape, and puts the focus back where it was. */
export const StepUpDialog = ({ methods, done, username, onSignedOut }: Props) => {
  const words = useWords('step-up')
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  // Before the effects of the form, which moves the focus to its field.
  useLayoutEffect(() => {
    const opened = dialog.current
    opened?.showModal()
    moveFocusTo(heading.current)
    return () => opened?.close()
  }, [])
  const finish = (proven: boolean) => {
    // Closed while it is still in the document, or the focus would be lost.
    dialog.current?.close()
    done(proven)
  }

  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={id} onCancel={() => finish(false)}>
      <h2 ref={heading} id={id}>
        {words.heading}
      </h2>
      <p>{words.leadChange}</p>
      <StepUpForm methods={methods} username={username} onProven={() => finish(true)} onSignedOut={onSignedOut} />
      <Button look="quiet" onPress={() => finish(false)}>
        {words.cancel}
      </Button>
    </dialog>
  )
}
