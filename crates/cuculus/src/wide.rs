//! The same code, compiled twice: once for the baseline of the platform and once for the wider
//! instructions that the processor turns out to have. Knows nothing of what it runs.
#![allow(unsafe_code, reason = "calling code compiled for a detected feature")]

/// Which instructions a filter may use. Answers and bytes do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[allow(unreachable_pub, reason = "public with the feature `lab`")]
pub enum Instructions {
    /// Whatever the processor has, found out at run time. The default.
    #[default]
    Detected,
    #[cfg(any(test, feature = "lab"))]
    /// Only those that every processor of the platform has.
    Baseline,
}

/// That the processor has AVX2, BMI1, BMI2, LZCNT and POPCNT. Made by [`Instructions::avx2`] alone, so
/// whoever has one may use them.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

/// Work that is worth compiling twice. `run` must be `#[inline(always)]` all the way down: what
/// is not inlined is compiled for the baseline.
pub trait Job {
    type Output;
    fn run(self) -> Self::Output;

    /// The same with other steps, for a processor that has the wider instructions.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "no wider instructions"))]
    #[inline(always)]
    fn run_wide(self) -> Self::Output
    where
        Self: Sized,
    {
        self.run()
    }
}

/// What was found out about the processor, kept so that it is found out once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// Only true if every feature named at `run_wide` was found present.
    wide: bool,
}

impl Instructions {
    pub(crate) fn choose(self) -> Chosen {
        #[cfg(target_arch = "x86_64")]
        let wide = self.are_wide() && !deposits_slowly();
        #[cfg(not(target_arch = "x86_64"))]
        let wide = false;
        Chosen { wide }
    }

    #[cfg(target_arch = "x86_64")]
    fn are_wide(self) -> bool {
        match self {
            Self::Detected => detected(),
            #[cfg(any(test, feature = "lab"))]
            Self::Baseline => false,
        }
    }

    #[cfg(target_arch = "x86_64")]
    pub(crate) fn avx2(self) -> Option<Avx2> {
        self.are_wide().then_some(Avx2(()))
    }
}

#[inline]
pub fn run<J: Job>(instructions: Instructions, job: J) -> J::Output {
    run_chosen(instructions.choose(), job)
}

#[inline(always)]
pub(crate) fn run_chosen<J: Job>(chosen: Chosen, job: J) -> J::Output {
    #[cfg(target_arch = "x86_64")]
    if chosen.wide {
        // SAFETY: `Chosen` says so only if the features were found present.
        return unsafe { run_wide(job) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = chosen;
    run_plain(job)
}

/// Out of line like its wider twin.
#[inline(never)]
fn run_plain<J: Job>(job: J) -> J::Output {
    job.run()
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn detected() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

/// Whether PDEP is microcode, some hundred cycles long: on processors of AMD before family 19h.
#[cfg(target_arch = "x86_64")]
fn deposits_slowly() -> bool {
    static SLOWLY: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *SLOWLY.get_or_init(|| {
        use core::arch::x86_64::__cpuid;
        // SAFETY: every processor of x86-64 has these two leaves. (Older compilers ask for it.)
        #[allow(unused_unsafe, reason = "safe in newer versions of the standard library")]
        let (vendor, version) = unsafe { (__cpuid(0), __cpuid(1).eax) };
        let family = (version >> 8 & 15) + (version >> 20 & 255);
        let is_of = |name: &[u8; 12]| {
            let words = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
            words.as_flattened() == name
        };
        (is_of(b"AuthenticAMD") || is_of(b"HygonGenuine")) && family < 0x19
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run_wide<J: Job>(job: J) -> J::Output {
    job.run_wide()
}
