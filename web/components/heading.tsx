import { useEffect, useId, useRef } from 'preact/hooks'
import { moveFocusTo } from '../hooks/focus.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'

/** Marks where a word that is too long for a narrow screen may be divided. */
const softHyphen = '\u00ad'

type Props = {
  text: string
  /** Whether the heading takes the focus, because the element that had it is gone. */
  focused?: boolean
  /** A sentence below the heading, which is read out with it. */
  lead?: string | undefined
  /** A small line above the heading, which is read out with it, too. */
  step?: string | undefined
}

/** The heading of what a page shows at present. It is also the title of the tab. */
export const Heading = ({ text, focused = false, lead, step }: Props) => {
  const { productName } = useSettings()
  const id = useId()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${text.replaceAll(softHyphen, '')} · ${productName}`
  }, [text, productName])
  useEffect(() => {
    if (focused) moveFocusTo(heading.current)
  }, [focused])
  const describedByIds = [...(step === undefined ? [] : [`${id}-step`]), ...(lead === undefined ? [] : [id])]
  const ariaDescription = describedByIds.length > 0 ? { 'aria-describedby': describedByIds.join(' ') } : {}
  return (
    <>
      {step !== undefined && (
        <p class="step" id={`${id}-step`}>
          {step}
        </p>
      )}
      <h1 ref={heading} {...ariaDescription}>
        {text}
      </h1>
      {lead !== undefined && (
        <p class="lead" id={id}>
          {lead}
        </p>
      )}
    </>
  )
}

/** A text such as "Step 2 of 3" for a registration. It is shown only if a second factor is required, which makes the way long. */
export const useStepText = (at: number | undefined, of = at) => {
  const { step } = useWords('common')
  const isLong = useSettings().secondFactor === 'required'
  return isLong && at !== undefined ? fill(step, { at: `${at}`, of: `${of}` }) : undefined
}
